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
    private final long countBefore;
    private final long millisBefore;

    Heap() {
        pools.forEach(MemoryPoolMXBean::resetPeakUsage);
        countBefore = totalCount();
        millisBefore = totalMillis();
    }

    long collections() {
        return totalCount() - countBefore;
    }

    long collectionMillis() {
        return totalMillis() - millisBefore;
    }

    /** The sum of the pools' peaks: not below the heap's own peak, and above it where the pools peak at different times. */
    long peakBytes() {
        return pools.stream().mapToLong(pool -> pool.getPeakUsage().getUsed()).sum();
    }

    // A bean says -1 where it does not know.
    private long totalCount() {
        return collectors.stream().mapToLong(bean -> Math.max(0, bean.getCollectionCount())).sum();
    }

    private long totalMillis() {
        return collectors.stream().mapToLong(bean -> Math.max(0, bean.getCollectionTime())).sum();
    }
}
