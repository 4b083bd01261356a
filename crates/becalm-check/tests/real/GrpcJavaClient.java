// Of each address, service config and number of calls: makes the calls one after the other with grpc-java, and tells in a
// line how each ended: the number of its code, or "refused" where the service config is not taken.

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.internal.JsonParser;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;

public final class GrpcJavaClient {
  /** Messages are bytes. */
  private static final class Plain implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      return new byte[0];
    }
  }

  public static void main(String[] told) throws Exception {
    for (int at = 0; at + 2 < told.length; at += 3) {
      System.out.println(ended(told[at].split(":"), told[at + 1], Integer.parseInt(told[at + 2])));
    }
  }

  @SuppressWarnings("unchecked")
  private static String ended(String[] address, String config, int calls) throws Exception {
    ManagedChannel channel;
    try {
      channel =
          NettyChannelBuilder.forAddress(new InetSocketAddress(address[0], Integer.parseInt(address[1])))
              .usePlaintext()
              .enableRetry()
              .defaultServiceConfig((Map<String, ?>) JsonParser.parse(config))
              .build();
    } catch (Exception refused) {
      return "refused";
    }
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(new Plain(), new Plain())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("shop.v1.Orders/Get")
            .build();
    StringJoiner ended = new StringJoiner(" ");
    for (int left = calls; left > 0; left--) {
      try {
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
        ClientCalls.blockingUnaryCall(channel, method, options, new byte[0]);
        ended.add("0");
      } catch (StatusRuntimeException error) {
        ended.add(Integer.toString(error.getStatus().getCode().value()));
      } catch (RuntimeException refused) {
        ended.add("refused");
      }
    }
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    return ended.toString();
  }
}
