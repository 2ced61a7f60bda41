# --- gRPC -------------------------------------------------------------------------------------------------
#
# grpcio writes from whichever thread polls, and has its own copy of libgrpc inside. So the call site and the
# cause of a call travel in its metadata to the socket, where the library takes them out. They are put in below
# all interceptors, and only on a channel that is in the clear, or encrypted in such a way that the library sees
# above it. A channel that was made before the session does not tell which. It is taken for plain if this process
# speaks in the clear to the channel's target.

FIELD = "x-filibuster"
SEEN = "_filibuster_seen"  # True, False, or the session in which the channel was made with encryption


def incoming_of(metadata):
    """The context that the caller's side has put into the metadata (the last one counts); b"": none."""
    for pair in reversed(metadata or ()):
        if pair[0] == FIELD:
            return pair[1].encode() if isinstance(pair[1], str) else bytes(pair[1])
    return b""


def marked(metadata, site):
    """The metadata of a call with our field in it."""
    given = tuple(metadata) if metadata is not None else ()
    forwarded = incoming_of(given)
    value = field(site, forwarded)
    if not value:
        return given if metadata is not None else None
    if forwarded:
        given = tuple(pair for pair in given if pair[0] != FIELD)
    return given + ((FIELD, value.decode()),)


def session_of_encryption():
    cygrpc = sys.modules.get("grpc._cython.cygrpc")
    return encrypted(getattr(cygrpc, "__file__", "").encode())


def is_seen(made):
    """Does this object, which a channel has made, belong to a channel whose bytes the library sees?"""
    known = made.__dict__.get(SEEN)
    if known is None:
        try:
            known = bool(plain(made._channel.target()))
        except Exception:
            known = False  # objects of grpc.aio have no target
        if known:
            made.__dict__[SEEN] = True
    return known == encrypted(b"") if isinstance(known, bytes) else known


def call_with_field(original):
    """(self, request, timeout=None, metadata=None, ...)"""
    @like(original)
    def call(self, *args, **kwargs):
        site = where() if is_seen(self) else b""
        if site:
            try:
                if len(args) > 2:
                    args = args[:2] + (marked(args[2], site),) + args[3:]
                else:
                    kwargs["metadata"] = marked(kwargs.get("metadata"), site)
            except Exception:
                pass  # the metadata is malformed, and grpc says so
        return original(self, *args, **kwargs)
    return call


def mark_channels(module):
    channel = module.Channel
    init = channel.__init__

    @like(init)
    def init_channel(self, target, options, credentials, *args, **kwargs):
        if credentials is None:
            self.__dict__[SEEN] = True
        else:
            # Each channel makes credentials of its own of these, and so has connections of its own.
            is_tls = type(credentials).__name__ == "SSLChannelCredentials"
            self.__dict__[SEEN] = is_tls and session_of_encryption() or False
        return init(self, target, options, credentials, *args, **kwargs)

    def making(original):
        @like(original)
        def make(self, *args, **kwargs):
            made = original(self, *args, **kwargs)
            if SEEN in self.__dict__:
                made.__dict__[SEEN] = self.__dict__[SEEN]
            return made
        return make

    channel.__init__ = init_channel
    for name in ("unary_unary", "unary_stream", "stream_unary", "stream_stream"):
        setattr(channel, name, making(getattr(channel, name)))


def callables(module):
    return [made for name, made in vars(module).items()
            if name.endswith("MultiCallable") and isinstance(made, type) and made.__module__ == module.__name__]


def patch_grpc_channel(module):
    mark_channels(module)
    for made in callables(module):
        for name in ("__call__", "with_call", "future"):
            if name in vars(made):
                setattr(made, name, call_with_field(vars(made)[name]))


def patch_grpc_aio_channel(module):
    def noting(original):
        @like(original)
        def call(self, *args, **kwargs):
            token = outgoing.set((where(),) if is_seen(self) else None)
            try:
                return original(self, *args, **kwargs)
            finally:
                outgoing.reset(token)
        return call

    mark_channels(module)
    for made in callables(module):
        if "__call__" in vars(made):
            made.__call__ = noting(vars(made)["__call__"])


def patch_grpc_aio_call(module):
    # With interceptors the call is made later, in a task of its own, which has inherited the variable.
    init = module.Call.__init__

    @like(init)
    def init_call(self, *args, **kwargs):
        init(self, *args, **kwargs)
        noted = outgoing.get(None)
        if noted and noted[0]:
            self._metadata = marked(self._metadata, noted[0])

    module.Call.__init__ = init_call


def patch_grpc_server(module):
    def for_rpc(original):
        @like(original)
        def serve(rpc_event, *args, **kwargs):
            previous = swap(incoming_of(rpc_event.invocation_metadata))
            try:
                return original(rpc_event, *args, **kwargs)
            finally:
                swap(previous)
        return serve

    for name in ("_find_method_handler", "_unary_response_in_pool", "_stream_response_in_pool"):
        setattr(module, name, for_rpc(getattr(module, name)))


def enter_rpc(details):
    """Called in the task that serves this RPC from here on: its request is the RPC."""
    events = sys.modules.get("asyncio.events")
    if events is not None and events._get_running_loop() is not None:
        serving()
        request.set(incoming_of(details.invocation_metadata))


def patch_grpc_utilities(module):
    handler = module.DictionaryGenericHandler
    service = handler.service

    @like(service)
    def service_for_rpc(self, handler_call_details):
        enter_rpc(handler_call_details)
        return service(self, handler_call_details)

    handler.service = service_for_rpc


class FirstHandler:
    """Is asked before the handlers that the program has made itself."""

    def service(self, handler_call_details):
        enter_rpc(handler_call_details)


def patch_grpc_aio_server(module):
    add = module.Server.add_generic_rpc_handlers

    @like(add)
    def add_handlers(self, generic_rpc_handlers):
        return add(self, (FirstHandler(), *generic_rpc_handlers))

    module.Server.add_generic_rpc_handlers = add_handlers


