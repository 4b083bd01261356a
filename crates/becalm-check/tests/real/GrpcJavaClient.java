// Makes calls one after the other with grpc-java, and tells how each ended: the number of its code, or "refused" where the
// service config is not taken.

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

  @SuppressWarnings("unchecked")
  public static void main(String[] told) throws Exception {
    String[] address = told[0].split(":");
    ManagedChannel channel;
    try {
      channel =
          NettyChannelBuilder.forAddress(new InetSocketAddress(address[0], Integer.parseInt(address[1])))
              .usePlaintext()
              .enableRetry()
              .defaultServiceConfig((Map<String, ?>) JsonParser.parse(told[1]))
              .build();
    } catch (Exception refused) {
      System.out.println("refused");
      return;
    }
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(new Plain(), new Plain())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("shop.v1.Orders/Get")
            .build();
    for (int left = Integer.parseInt(told[2]); left > 0; left--) {
      try {
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
        ClientCalls.blockingUnaryCall(channel, method, options, new byte[0]);
        System.out.println(0);
      } catch (StatusRuntimeException error) {
        System.out.println(error.getStatus().getCode().value());
      } catch (RuntimeException refused) {
        System.out.println("refused");
      }
    }
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
  }
}
