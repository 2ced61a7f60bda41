// The few functions of Node-API (nodejs.org/api/n-api.html, stable since Node 10) that the addon
// calls. Found in the host at run time: the library needs libc only, and most of its hosts are no
// Node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filibuster::preload::node {

using Env = struct NapiEnv*;
using Value = struct NapiValue*;
using CallbackInfo = struct NapiCallbackInfo*;
using Callback = Value (*)(Env, CallbackInfo);
using Status = int;                    // 0: napi_ok
inline constexpr int kUint8Array = 1;  // napi_typedarray_type

struct Api {
  Status (*napi_create_function)(Env, const char* name, size_t size, Callback, void* data, Value*);
  Status (*napi_set_named_property)(Env, Value object, const char* name, Value);
  Status (*napi_get_cb_info)(Env, CallbackInfo, size_t* count, Value* arguments, Value* self,
                             void** data);
  Status (*napi_get_value_string_utf8)(Env, Value, char* out, size_t capacity, size_t* size);
  Status (*napi_get_value_int32)(Env, Value, int32_t* out);
  Status (*napi_get_value_int64)(Env, Value, int64_t* out);
  Status (*napi_create_string_latin1)(Env, const char* text, size_t size, Value*);
  Status (*napi_get_boolean)(Env, bool, Value*);
  Status (*napi_create_uint32)(Env, uint32_t, Value*);
  Status (*napi_get_typedarray_info)(Env, Value, int* type, size_t* size, void** data,
                                     Value* buffer, size_t* offset);
};

}  // namespace filibuster::preload::node
