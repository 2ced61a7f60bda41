# What Filibuster does inside a Python program: carries 'which incoming request causes this' from the
# connection that read it to the tasks and threads that serve it. Compiled into the library and run once,
# in a namespace of its own, when a session is there. helper_grpc.py and helper_install.py go on where this ends, and stand in the
# same namespace. Given by helper.cc:
#   request     ContextVar: the request (bytes) that all that runs in this context is caused by
#   connection  ContextVar: [request or None, how many were read, is it a server's connection?], shared by
#               what was made for one connection before its first request was read
#   inherit()   the calling thread's or task's request as bytes; b"": not known
#   swap(task)  sets the calling thread's request; returns the one before
#   greenlets(getcurrent)  this process has greenlets
#   serving()   this thread's loop has accepted a connection
#   ready(...)  the library may ask the loop from now on
#   where()     the call stack's number as bytes; b"": no execution runs
#   origins     1: the session asks where the program began what runs now (origins.h)
#   origin      ContextVar: the number of the stack that began the task or timer
#   began(work) like where(), of the program's frames that give `work` (a coroutine, or None) to somebody; b"": there are none
#   resume(origin)  sets where the program gave the calling thread its work; returns what was set before
#   field(site, forwarded)  our field for a request that is made now; b"": put none into it
#   plain(target)  b"1" if this process speaks in the clear to the target of a gRPC channel, else b""
#   encrypted(path)  the session (bytes) whose agent sees what the gRPC in the library at `path` encrypts on a channel
#               that is made now; b"": none. encrypted(b""): the session of now
#   outgoing    ContextVar: (the gRPC call's site,) while grpc.aio makes it; None: it must not be marked
#   drawing(type)  the class that the module random builds upon is there
#   note(text)  goes into the report
#
# Only `sys` is imported: at this moment another thread may be in the middle of any other import.
import sys

OWN_FILE = "<frozen filibuster>"  # named like the interpreter's own code, so that it is never a call site


def like(original):
    def decorate(wrapper):
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(wrapper, name, getattr(original, name))
        wrapper.__wrapped__ = original
        return wrapper
    return decorate


# --- where it was begun ----------------------------------------------------------------------------------

ORIGIN_DEPTH = 16  # frames


def follow_coroutines():
    """Each coroutine that this thread makes keeps on which frames it was made."""
    if origins and sys.get_coroutine_origin_tracking_depth() == 0:
        sys.set_coroutine_origin_tracking_depth(ORIGIN_DEPTH)


def mark_origin(work):
    """The task or timer that is made now keeps its origin. Returns what unbind() undoes it with."""
    site = began(work) if origins else b""
    return (origin, origin.set(site)) if site else None


class Unawaited:
    """Stands for a coroutine, without the frames on which it was made."""
    cr_origin = None

    def __init__(self, coro):
        self.__qualname__ = coro.__qualname__


def patch_warnings(module):
    # A coroutine that was never awaited is told with these frames, if they are kept because the program wants it so.
    warn = module._warn_unawaited_coroutine
    if not origins:
        return

    @like(warn)
    def warn_unawaited(coro):
        ours = sys.get_coroutine_origin_tracking_depth() == ORIGIN_DEPTH
        warn(Unawaited(coro) if ours else coro)

    # The line that a warning shows is found by counting frames. Those of files with such names are not counted.
    named = warn_unawaited.__code__.replace(co_filename=OWN_FILE + " importlib._bootstrap")
    warn_unawaited.__code__ = named
    module._warn_unawaited_coroutine = warn_unawaited


# --- random numbers ---------------------------------------------------------------------------------------

def patch_random(module):
    drawing(sys.modules["_random"].Random)


# --- asyncio ------------------------------------------------------------------------------------------

running_task = None  # current_task(loop)


def bind(loop, for_task):
    """Sets the context that a task or timer keeps which is made now. Returns what unbind() undoes it with."""
    if request.get(None) is not None:
        return None
    held = connection.get(None)
    if held is None or held[0] is None:
        # A connection's own tasks follow it from request to request. Any other task may read requests itself.
        if for_task and (held is None or not held[2]):
            return connection, connection.set([None, 0, False])
        return None
    # After several requests, a callback may be left over from an earlier one. A task is of the last one.
    known = held[1] == 1 or running_task(loop) is not None
    return request, request.set(held[0] if known else b"")


def unbind(token):
    if token is not None:
        token[0].reset(token[1])


def drop_own_frame(made):
    """In debug mode asyncio keeps where a task or timer was made. Our wrapper must not show there."""
    trace = getattr(made, "_source_traceback", None)
    if trace and trace[-1].filename == OWN_FILE:
        del trace[-1]
    return made


def patch_base_events(module):
    global running_task
    running_task = module.tasks.current_task
    # The library asks in the middle of a send, where no Python code may run. So it gets functions written in C.
    current = running_task if not hasattr(running_task, "__code__") else module.tasks._current_tasks.get
    loop = module.BaseEventLoop
    create_task, call_at = loop.create_task, loop.call_at

    @like(create_task)
    def create_task_for_request(self, coro, *args, **kwargs):
        follow_coroutines()
        context = kwargs.get("context")
        if context is not None:
            try:
                context.run(bind, self, False)
                context.run(mark_origin, coro)
            except RuntimeError:
                pass  # it is in use
            return create_task(self, coro, *args, **kwargs)
        token, mark = bind(self, True), mark_origin(coro)
        try:
            return drop_own_frame(create_task(self, coro, *args, **kwargs))
        finally:
            unbind(mark)
            unbind(token)

    @like(call_at)
    def call_at_for_request(self, when, callback, *args, context=None):
        if context is not None:
            return call_at(self, when, callback, *args, context=context)
        token, mark = bind(self, False), mark_origin(None)
        try:
            return drop_own_frame(call_at(self, when, callback, *args))
        finally:
            unbind(mark)
            unbind(token)

    loop.create_task, loop.call_at = create_task_for_request, call_at_for_request
    ready(module.events._get_running_loop, current, module.events.Handle._run.__code__, isinstance, loop)


def patch_selector_events(module):
    loop = module.BaseSelectorEventLoop
    accept, adopt = loop._accept_connection2, module.base_events.BaseEventLoop.connect_accepted_socket

    @like(accept)
    async def accept_for_requests(self, *args, **kwargs):
        begin_connection()
        return await accept(self, *args, **kwargs)

    @like(adopt)
    async def adopt_for_requests(self, *args, **kwargs):
        tokens = begin_connection()
        try:
            return await adopt(self, *args, **kwargs)
        finally:
            for token in tokens:
                token.var.reset(token)

    loop._accept_connection2 = accept_for_requests
    module.base_events.BaseEventLoop.connect_accepted_socket = adopt_for_requests


def begin_connection():
    serving()
    # The function that made the server has not begun what a request brings about.
    return connection.set([None, 0, True]), request.set(None), origin.set(b"")


# --- greenlets ----------------------------------------------------------------------------------------
#
# Greenlets of gevent and of eventlet take turns on one thread. The library keeps the request of each.

def patch_greenlet(module):
    greenlets(module.getcurrent)


# gevent's greenlets have what they share with those that they spawn. Those of eventlet get a context of their own, as they would
# get by themselves when they first run, with nothing in it but our request.

def patch_eventlet(module):
    from _contextvars import Context
    green_thread, spawn_n = module.GreenThread, module._spawn_n
    init = green_thread.__init__

    def hand_on(greenlet):
        task = inherit()
        if len(task) > 1 and getattr(greenlet, "gr_context", greenlet) is None:
            greenlet.gr_context = context = Context()
            context.run(request.set, task)
        return greenlet

    @like(init)
    def init_for_request(self, *args, **kwargs):
        init(self, *args, **kwargs)
        hand_on(self)

    @like(spawn_n)
    def spawn_n_for_request(*args, **kwargs):
        timer, greenlet = spawn_n(*args, **kwargs)
        return timer, hand_on(greenlet)

    green_thread.__init__, module._spawn_n = init_for_request, spawn_n_for_request


def patch_uvloop(module):
    note("uvloop: which request causes a task is not known to us; run on asyncio's own loop to know it")
    if not origins:
        return
    run_forever = module.Loop.run_forever

    def run_loop(self):  # stack.cc knows it by this name: what is below has started the loop
        return run_forever(self)

    run_loop.__name__, run_loop.__doc__ = run_forever.__name__, run_forever.__doc__
    module.Loop.run_forever = run_loop


# --- threads --------------------------------------------------------------------------------------------
#
# A thread that a request's handler starts works for that request, until the thread waits to be handed
# something: from then on it may work for others.

MARK = "_filibuster_task"
ORIGIN = "_filibuster_origin"
pool_targets = []


def patch_threading(module):
    thread, event = module.Thread, module.Event
    start, bootstrap, wait, current = thread.start, thread._bootstrap_inner, event.wait, module.current_thread
    active = module._active  # by identifier: current_thread() would register foreign threads

    @like(start)
    def start_for_request(self):
        me = active.get(module.get_ident())
        mine = {name: me.__dict__.pop(name) for name in (MARK, ORIGIN) if me is not None and name in me.__dict__}
        if type(self).__module__ != "multiprocessing.dummy" and getattr(self, "_target", None) not in pool_targets:
            task = inherit()
            if task:
                self.__dict__[MARK] = task
            if origins:
                self.__dict__[ORIGIN] = began(None)
        try:
            return start(self)
        except BaseException:
            self.__dict__.pop(MARK, None)
            self.__dict__.pop(ORIGIN, None)
            raise
        finally:
            if mine:
                me.__dict__.update(mine)  # start() itself waits for an event

    @like(bootstrap)
    def bootstrap_for_request(self):
        task = self.__dict__.get(MARK)
        if task is not None:
            swap(task)
        if origins:
            follow_coroutines()
            resume(self.__dict__.get(ORIGIN, b""))
        bootstrap(self)

    @like(wait)
    def wait_for_request(self, timeout=None):
        me = active.get(module.get_ident())
        if me is not None and (MARK in me.__dict__ or ORIGIN in me.__dict__) and getattr(me, "finished", None) is not self:
            forget(me)
        return wait(self, timeout)

    thread.start, thread._bootstrap_inner, event.wait = start_for_request, bootstrap_for_request, wait_for_request


def forget(thread):
    if thread is not None and thread.__dict__.pop(MARK, None) is not None:
        swap(b"")
    if thread is not None and thread.__dict__.pop(ORIGIN, None) is not None:
        resume(b"")


def patch_queue(module):
    get = module.Queue.get

    @like(get)
    def get_for_request(self, block=True, timeout=None):
        if block:
            threading = sys.modules.get("threading")
            if threading is not None:
                forget(threading._active.get(threading.get_ident()))
        return get(self, block, timeout)

    module.Queue.get = get_for_request


def run_for(task, fn, /, *args, **kwargs):
    previous = swap(task)
    try:
        return fn(*args, **kwargs)
    finally:
        swap(previous)


def run_from(site, task, fn, /, *args, **kwargs):
    previous = resume(site)
    try:
        return run_for(task, fn, *args, **kwargs)
    finally:
        resume(previous)


def patch_executor(module):
    submit = module.ThreadPoolExecutor.submit
    pool_targets.append(module._worker)

    @like(submit)
    def submit_for_request(self, fn, /, *args, **kwargs):
        if origins:
            return submit(self, run_from, began(None), inherit(), fn, *args, **kwargs)
        return submit(self, run_for, inherit(), fn, *args, **kwargs)

    module.ThreadPoolExecutor.submit = submit_for_request


