import io.undertow.server.handlers.resource.PathResourceManager;
import io.undertow.server.handlers.resource.ResourceManager;
import java.nio.file.Path;

/** One of Java's ways of serving a folder: Served.java KIND PORT FOLDER. */
public class Served {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        String folder = args[2];
        switch (args[0]) {
            case "jetty" -> jetty(port, folder, false);
            case "jetty-etags" -> jetty(port, folder, true);
            case "tomcat" -> tomcat(port, folder);
            case "undertow" -> undertow(port, new PathResourceManager(Path.of(folder)));
            case "undertow-etags" -> undertow(port, PathResourceManager.builder()
                .setBase(Path.of(folder))
                .setETagFunction(path -> new io.undertow.util.ETag(false, "a" + path.toFile().lastModified()))
                .build());
        }
        Thread.currentThread().join();
    }

    static void jetty(int port, String folder, boolean etags) throws Exception {
        var server = new org.eclipse.jetty.server.Server(new java.net.InetSocketAddress("127.0.0.1", port));
        var files = new org.eclipse.jetty.server.handler.ResourceHandler();
        files.setBaseResource(org.eclipse.jetty.util.resource.ResourceFactory.of(files).newResource(Path.of(folder)));
        files.setEtags(etags);
        server.setHandler(files);
        server.start();
    }

    static void tomcat(int port, String folder) throws Exception {
        var tomcat = new org.apache.catalina.startup.Tomcat();
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir") + "/tomcat-" + port);
        tomcat.setPort(port);
        tomcat.getConnector();
        var context = tomcat.addContext("", folder);
        org.apache.catalina.startup.Tomcat.addServlet(
            context, "default", new org.apache.catalina.servlets.DefaultServlet());
        context.addServletMappingDecoded("/", "default");
        tomcat.start();
    }

    static void undertow(int port, ResourceManager files) {
        io.undertow.Undertow.builder().addHttpListener(port, "127.0.0.1")
            .setHandler(io.undertow.Handlers.resource(files)).build().start();
    }
}
