# --- now, or when they are imported ------------------------------------------------------------------------

# Modules that are loaded already are patched in this order. The library asks from base_events on, so what
# comes before must be patched by then.
waiting = {
    "warnings": patch_warnings,
    "random": patch_random,
    "greenlet": patch_greenlet,
    "eventlet.greenthread": patch_eventlet,
    "threading": patch_threading,
    "queue": patch_queue,
    "concurrent.futures.thread": patch_executor,
    "asyncio.selector_events": patch_selector_events,
    "asyncio.base_events": patch_base_events,
    "uvloop": patch_uvloop,
    "grpc._channel": patch_grpc_channel,
    "grpc._server": patch_grpc_server,
    "grpc._utilities": patch_grpc_utilities,
    "grpc.aio._channel": patch_grpc_aio_channel,
    "grpc.aio._call": patch_grpc_aio_call,
    "grpc.aio._server": patch_grpc_aio_server,
}
half_made = []


def patch(name, module):
    function = waiting.pop(name, None)
    if function is None:
        return
    try:
        function(module)
    except Exception as problem:
        note(f"cpython: {name} is not followed ({type(problem).__name__}: {problem})")


def patch_loaded(names):
    for name in names:
        module = sys.modules.get(name)
        if module is None:
            continue
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            if name not in half_made:
                half_made.append(name)
            continue
        patch(name, module)


class Finder:
    """Patches a module when it is imported. Finds nothing by itself."""

    def find_spec(self, name, path=None, target=None):
        if half_made:
            patch_loaded([half for half in half_made if half in waiting])
        if name not in waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                self.follow(name, spec.loader)
                return spec
        return None

    def follow(self, name, loader):
        def exec_module(module):
            del loader.exec_module
            loader.exec_module(module)
            patch(name, module)
        try:
            loader.exec_module = exec_module
        except Exception as problem:
            note(f"cpython: {name} is not followed ({type(problem).__name__}: {problem})")


follow_coroutines()
patch_loaded(list(waiting))
if waiting:
    sys.meta_path.insert(0, Finder())
