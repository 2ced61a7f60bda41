// What is found in sources of services that speak HTTP, one fixture for each framework.
#include <gtest/gtest.h>

#include "tests/unit/analysis/fixture.h"

namespace filibuster::analysis {
namespace {

TEST(Flask, AnswersAreThoseOfTheirRoute) {
  const Scan found = scan({{"users.py", R"x(from flask import Flask, abort, jsonify, make_response
from werkzeug.exceptions import ServiceUnavailable
app = Flask(__name__)
# abort(418)
NOT = "abort(417)"

@app.errorhandler(Exception)
def failed(error):
    return jsonify(error=str(error)), 502

@app.get("/users/<int:user>")
def user(user):
    if user == 3:
        return "no", 404
    response = requests.get("http://x", timeout=1)
    if response.status_code == 409:
        abort(response.status_code)
    return jsonify(a=1), 200

@app.route("/users", methods=["POST", "PUT"])
def add():
    if x:
        abort(400)
    if y:
        raise ServiceUnavailable("later")
    return make_response(jsonify(a=[1, 2]), 507)

def helper():
    return Response("x", status=429)
)x"}});
  EXPECT_EQ(lines(found),
            (Lines{"status:502 users.py:9", "status:404 users.py:14 GET /users/*",
                   "status:400 users.py:23 POST /users PUT /users",
                   "status:503 users.py:25 POST /users PUT /users",
                   "status:507 users.py:26 POST /users PUT /users", "status:429 users.py:29"}));
  EXPECT_EQ(found.frameworks, Lines{"Flask (users.py:3)"});
  EXPECT_EQ(found.passed_on, Lines{"users.py:17: abort(response.status_code)"});
  EXPECT_EQ(found.evidence[0].text,
            "users.py:3: app = Flask(__name__) (Flask, where an exception is not caught)");
  EXPECT_EQ(found.evidence[0].answer, (Answer{false, 500}));
}

TEST(Flask, APathOfABlueprintHasItsPrefix) {
  EXPECT_EQ(lines(scan({{"a.py", R"x(bp = Blueprint("a", __name__, url_prefix="/api")
other = Blueprint("b", __name__)
@bp.get("/x")
def x(): return "", 404
@other.get("/y")
def y(): return ("", 409)
)x"}})),
            (Lines{"status:404 a.py:4 GET */api/x", "status:409 a.py:6 GET */y"}));
}

TEST(Python, NamedStatusesAreAnswersUnlessComparedWith) {
  EXPECT_EQ(lines(scan({{"a.py", R"x(from http import HTTPStatus
if r.status == HTTPStatus.NOT_FOUND or r.status in (HTTPStatus.GONE, HTTPStatus.CONFLICT): pass
def f():
    return "x", HTTPStatus.FORBIDDEN
raise HTTPException(status_code=status.HTTP_422_UNPROCESSABLE_ENTITY, detail="x")
raise HTTPException(401)
)x"}})),
            (Lines{"status:403 a.py:4", "status:422 a.py:5", "status:401 a.py:6"}));
}

TEST(Python, AFunctionThatTakesAStatusIsKnownByItsParameter) {
  EXPECT_EQ(lines(scan({{"a.py", R"x(class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(503, "x")
        self.other(500, 504)
        self.answer(200, "x")
    def answer(self, status, text):
        self.send_response(status)
)x"}})),
            (Lines{"status:503 a.py:3"}));
}

TEST(Python, EveryStatusThatAnExpressionMayComeToCounts) {
  const Scan found = scan({{"a.py", R"x(GONE = 410
LIMIT = 500
LIMIT = 501
limit = 502
def f():
    return "x", GONE
def g():
    return "x", 404 if missing == 409 else 200, {}
def h(error):
    return ("x", error.code or 503)
def i():
    return rows, limit
def j():
    return rows, LIMIT
def k():
    abort(error.status or (429 if many else
                           GONE))
status = 422 if x else 200
if status == GONE: pass
def l():
    return ("a", 423) if x else ("b", 424)
def m():
    return jsonify(
        1,
    ), 425
def n():
    return r.text, r.status_code
def o():
    if x: return
    y = z, 426
)x"}});
  EXPECT_EQ(lines(found),
            (Lines{"status:410 a.py:6", "status:404 a.py:8", "status:503 a.py:10",
                   "status:429 a.py:16", "status:410 a.py:17", "status:422 a.py:18",
                   "status:423 a.py:21", "status:424 a.py:21", "status:425 a.py:25"}));
  EXPECT_EQ(found.passed_on, (Lines{"a.py:16: abort(error.status or (429 if many else",
                                    "a.py:27: return r.text, r.status_code"}));
}

TEST(Python, OtherFrameworks) {
  EXPECT_EQ(
      lines(scan({{"a.py", R"x(raise web.HTTPNotFound()
raise Http404("x")
return HttpResponseForbidden()
self.set_status(409)
self.send_error(500)
return JSONResponse({"a": 1}, status_code=429)
return JSONResponse({"a": 500}, 423)
)x"}})),
      (Lines{"status:404 a.py:1", "status:404 a.py:2", "status:403 a.py:3", "status:409 a.py:4",
             "status:500 a.py:5", "status:429 a.py:6", "status:423 a.py:7"}));
}

TEST(Express, AnswersAreThoseOfTheirRoute) {
  const Scan found = scan({{"app.js", R"x(const app = express();
// res.status(418)
app.get('/users/:id/books', async (req, res, next) => {
  if (!user) return res.status(404).json({ error: "res.status(417)" });
  const r = await fetch(`${url}/x`);
  if (r.status === 409) return next(createError(503));
  res.sendStatus(r.status);
});
const router = express.Router();
router.post('/orders', create);
function create(req, res) { res.status(422).end(); }
app.use((err, req, res, next) => { res.status(500).send("x"); });
)x"}});
  EXPECT_EQ(lines(found), (Lines{"status:404 app.js:4 GET /users/*/books",
                                 "status:503 app.js:6 GET /users/*/books",
                                 "status:422 app.js:11 POST */orders", "status:500 app.js:12"}));
  EXPECT_EQ(found.passed_on, Lines{"app.js:7: res.sendStatus(r.status);"});
}

TEST(Express, EveryStatusThatAnExpressionMayComeToCounts) {
  const Scan found = scan({{"app.js", R"x(const GONE = 410;
app.use((err, req, res, next) => {
  res.status(err.status || 502).end();
});
app.get('/a', (req, res) => {
  res.status(r.status === 409 ? 404 : found ? 200 : GONE).end()
  res.statusCode = err.code ??
    503
  next({ status: late ? 504 : 200, text: "x" });
  res.status(err.response?.status ?? 507).end();
  res.status(a ? [401, 402].length : f(403)).end();
});
)x"}});
  EXPECT_EQ(lines(found), (Lines{"status:502 app.js:3", "status:404 app.js:6 GET /a",
                                 "status:410 app.js:6 GET /a", "status:503 app.js:8 GET /a",
                                 "status:504 app.js:9 GET /a", "status:507 app.js:10 GET /a"}));
  EXPECT_EQ(found.passed_on, (Lines{"app.js:3: res.status(err.status || 502).end();",
                                    "app.js:10: res.status(err.response?.status ?? 507).end();"}));
}

TEST(Node, StatusesOfTheHttpModuleAndOwnErrors) {
  EXPECT_EQ(
      lines(scan(
          {{"a.mjs",
            R"x(class Refusal extends Error { constructor(status, text) { super(text); this.status = status; } }
http.createServer((q, r) => {
  r.writeHead(503).end();
  r.statusCode = 504;
  const [status, text] = bad ? [500, String(e)] : [200, ""];
  demand(answer, [404, 403]);
  throw new Refusal(403, "x");
});
export default { status: 429 };
)x"}})),
      (Lines{"status:503 a.mjs:3", "status:504 a.mjs:4", "status:500 a.mjs:5", "status:403 a.mjs:7",
             "status:429 a.mjs:9"}));
}

TEST(Spring, AnswersAreThoseOfTheirRoute) {
  const Scan found = scan({{"A.java", R"x(
@RestController
@RequestMapping("/api")
class A {
  @GetMapping("/users/{id}")
  ResponseEntity<User> user(@PathVariable String id) {
    if (status == HttpStatus.GONE) return ResponseEntity.notFound().build();
    return ResponseEntity.status(HttpStatus.CONFLICT).build();
  }
  @RequestMapping(value = "/users", method = RequestMethod.POST)
  @ResponseStatus(HttpStatus.CREATED)
  void add() { throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE, "x"); }
  @ExceptionHandler(X.class)
  @ResponseStatus(HttpStatus.BAD_GATEWAY)
  void failed() {}
}
)x"}});
  EXPECT_EQ(lines(found),
            (Lines{"status:404 A.java:7 GET /api/users/*", "status:409 A.java:8 GET /api/users/*",
                   "status:503 A.java:12 POST /api/users", "status:502 A.java:14"}));
}

TEST(Java, TheServerOfTheJdkAndRecordsWithAStatus) {
  const Scan found = scan({{"A.java", R"x(class A {
  record Answer(int status, String text) {}
  Answer f() { return new Service.Answer(403, "x"); }
  int TIMEOUT = 500;
  void g(HttpExchange e) {
    server.createContext("/users/", x -> { x.sendResponseHeaders(404, -1); });
    if (code >= 400) e.sendResponseHeaders(HttpURLConnection.HTTP_UNAVAILABLE, 0);
  }
}
)x"}});
  EXPECT_EQ(lines(found),
            (Lines{"status:403 A.java:3", "status:404 A.java:6  /users/*", "status:503 A.java:7"}));
}

TEST(Go, AnswersAreThoseOfTheirRoute) {
  const Scan found = scan({{"main.go", R"x(package main
func main() {
  mux := http.NewServeMux()
  mux.HandleFunc("GET /users/{id}", getUser)
  mux.HandleFunc("/orders/", func(w http.ResponseWriter, r *http.Request) {
    http.Error(w, fmt.Sprintf("%s, %s", a, b), http.StatusConflict)
  })
}
func getUser(w http.ResponseWriter, r *http.Request) {
  if resp.StatusCode == http.StatusNotFound { http.NotFound(w, r) }
  switch resp.StatusCode { case http.StatusGone, http.StatusLocked: }
  w.WriteHeader(503)
  w.WriteHeader(resp.StatusCode)
}
)x"}});
  EXPECT_EQ(lines(found),
            (Lines{"status:409 main.go:6  /orders/*", "status:404 main.go:10 GET /users/*",
                   "status:503 main.go:12 GET /users/*"}));
  EXPECT_EQ(found.passed_on, Lines{"main.go:13: w.WriteHeader(resp.StatusCode)"});
}

TEST(Cpp, AnswersOfHttplibAndStructuresThatBeginWithAStatus) {
  const Scan found = scan({{"a.cc", R"x(struct Answer { int status = 200; std::string body; };
int main() {
  httplib::Server server;
  server.Get(R"(/hotels/(\d+))", [&](const httplib::Request& q, httplib::Response& r) {
    r.status = 503;
  });
  serve([&]() -> Answer { if (a.status == 404) return {409, "x"}; return Answer{502, ""}; });
  client.Get("/x");
  int port = 500;
}
)x"}});
  EXPECT_EQ(lines(found),
            (Lines{"status:503 a.cc:5 GET /hotels/*", "status:409 a.cc:7", "status:502 a.cc:7"}));
}

TEST(Program, OfWhatItImportsOnlyWhatIsMentionedCounts) {
  const Text shared{"shared.mjs", R"x(export class Refusal extends Error { constructor(status) {} }
export function ask() { throw new Refusal(503); }
export function serve() { reply(); }
function reply() { response.writeHead(500); }
)x"};
  EXPECT_EQ(lines(scan_program({{"a.mjs",
                                 "import { Refusal, serve } from './shared.mjs';\nserve();\n"
                                 "throw new Refusal(404);"},
                                shared})),
            (Lines{"status:404 a.mjs:3", "status:500 shared.mjs:4"}));
  EXPECT_EQ(lines(scan_program({{"b.mjs", "import { ask } from './shared.mjs';\nask();"}, shared})),
            (Lines{"status:503 shared.mjs:2"}));
}

}  // namespace
}  // namespace filibuster::analysis
