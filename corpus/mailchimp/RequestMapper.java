/** Requestmapper: which internal URL a pretty one stands for. */
public final class RequestMapper {
  static Service.Answer answer(String method, String path) {
    String pretty = path.substring("/urls/".length());
    return new Service.Answer(200, pretty.equals("spring-sale") ? "campaigns/2021/17" : pretty);
  }

  public static void main(String[] arguments) throws Exception {
    Service.serve(Integer.parseInt(arguments[0]), RequestMapper::answer);
  }
}
