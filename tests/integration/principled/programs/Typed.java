// Objects of grpc and protobuf where texts and JSON are taken; as typed.py.
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.InputStream;

public class Typed extends FilibusterPrincipled {
  static class Nothing implements MethodDescriptor.Marshaller<Struct> {
    @Override
    public InputStream stream(Struct value) {
      return new ByteArrayInputStream(new byte[0]);
    }

    @Override
    public Struct parse(InputStream stream) {
      return Struct.getDefaultInstance();
    }
  }

  static MethodDescriptor<Struct, Struct> getUser() {
    return MethodDescriptor.<Struct, Struct>newBuilder().setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName("shop.UserService/GetUser").setRequestMarshaller(new Nothing()).setResponseMarshaller(new Nothing()).build();
  }

  static Struct message(String name, String value) {
    return Struct.newBuilder().putFields(name, Value.newBuilder().setStringValue(value).build()).build();
  }

  @Override
  public void stubBlock() {
    stubFor("user", rpc(getUser()).request(message("session_id", "s1")), message("user_id", "ann"));
    stubFor("cart", service("cart"), answer().code(Status.NOT_FOUND), message("cart_id", "c1"));
  }

  @Override
  public void failureBlock() {
    assertFaultThrows(rpc(getUser()).request(message("session_id", "s1")), Status.Code.UNAVAILABLE);
  }

  @Override
  public void executeTestBlock() {}
}
