package twitter4j;

import java.io.IOException;
import okhttp3.internal.http2.ErrorCode;
import okhttp3.internal.http2.StreamResetException;

/** The one error of HTTP/2 that asks for HTTP/1.1. Apart from the rest, since OkHttp keeps these classes to itself. */
final class Http11Required {
    private Http11Required() {}

    static boolean is(IOException failed) {
        try {
            return failed instanceof StreamResetException
                    && ((StreamResetException) failed).errorCode == ErrorCode.HTTP_1_1_REQUIRED;
        } catch (LinkageError moved) {
            return false;
        }
    }
}
