package wirelap.contract;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.List;

/** What the collector did and how full the heap was since this was made. */
final class Heap {
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    private final List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP)
            .toList();
    private final long usedBefore;
    private final long countBefore;
    private final long millisBefore;

    Heap() {
        pools.forEach(MemoryPoolMXBean::resetPeakUsage);
        usedBefore = used();
        countBefore = totalCount();
        millisBefore = totalMillis();
    }

    long collections() {
        return totalCount() - countBefore;
    }

    long collectionMillis() {
        return totalMillis() - millisBefore;
    }

    /**
     * The sum of the pools' peaks, which is above the heap's own peak where they peak at different times. G1's beans count
     * a region when it is full: before that the JVM's own figure at both ends is the better one.
     */
    long peakBytes() {
        long peaks = pools.stream().mapToLong(pool -> pool.getPeakUsage().getUsed()).sum();
        return Math.max(peaks, Math.max(usedBefore, used()));
    }

    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    // A bean says -1 where it does not know.
    private long totalCount() {
        return collectors.stream().mapToLong(bean -> Math.max(0, bean.getCollectionCount())).sum();
    }

    private long totalMillis() {
        return collectors.stream().mapToLong(bean -> Math.max(0, bean.getCollectionTime())).sum();
    }
}
