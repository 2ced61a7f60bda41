#include "cli/init/images.h"

#include <algorithm>
#include <iterator>

#include "core/text/glob.h"

namespace filibuster::init {
namespace {

// Asked in order. An image that only runs what it is given (an entrypoint script that ends in `exec
// "$@"` is such a one) has a row with a pattern alone.
// clang-format off
constexpr ImageRow kImages[] = {
    // gcr.io/distroless: there is no shell, and the interpreter is the entrypoint.
    {"*distroless/nodejs*", "node", ""},
    {"*distroless/python*", "python3", ""},
    {"*distroless/java-base*", "", ""},
    {"*distroless/java*", "java -jar", ""},
    {"*distroless/*", "", ""},
    {"*chainguard/node:*", "node", ""},
    {"*chainguard/python:*", "python3", ""},
    {"*chainguard/jre:*", "java", ""},
    {"*chainguard/jdk:*", "", ""},
    {"*chainguard/static:*", "", ""},
    {"*chainguard/glibc-dynamic:*", "", ""},
    {"*chainguard/wolfi-base:*", "", ""},
    // Interpreters.
    {"node:*", "", "", 0, "node"},
    {"*bitnami/node:*", "", ""},
    {"oven/bun:*", "", "", 0, "bun"},
    {"denoland/deno:*", "", "", 0, "deno"},
    {"php:*apache*", "", "apache2-foreground", 80, "php"},
    {"php:*fpm*", "", "php-fpm", 9000, "php"},
    {"php:*", "", "", 0, "php"},
    {"python:*", "", ""}, {"pypy:*", "", ""}, {"ruby:*", "", ""}, {"perl:*", "", ""},
    {"golang:*", "", ""}, {"rust:*", "", ""}, {"gcc:*", "", ""}, {"swift:*", "", ""},
    {"elixir:*", "", ""}, {"erlang:*", "", ""}, {"hexpm/*", "", ""}, {"haskell:*", "", ""},
    {"dart:*", "", ""},
    {"clojure:*", "", ""}, {"openjdk:*", "", ""}, {"eclipse-temurin:*", "", ""},
    {"adoptopenjdk:*", "", ""}, {"adoptopenjdk/*", "", ""}, {"amazoncorretto:*", "", ""},
    {"ibmjava:*", "", ""}, {"java:*", "", ""},
    {"azul/zulu-openjdk*", "", ""}, {"bellsoft/liberica*", "", ""}, {"sapmachine:*", "", ""},
    {"*openjdk/jdk:*", "", ""}, {"maven:*", "", "mvn"}, {"gradle:*", "", "gradle"},
    {"*dotnet/*", "", ""}, {"microsoft/dotnet*", "", ""}, {"mono:*", "", ""},
    // Distributions.
    {"scratch*", "", ""}, {"debian:*", "", ""}, {"ubuntu:*", "", ""}, {"alpine:*", "", ""},
    {"*alpine/git:*", "git", ""},
    {"busybox:*", "", ""}, {"fedora:*", "", ""}, {"centos:*", "", ""}, {"rockylinux*", "", ""},
    {"almalinux*", "", ""}, {"amazonlinux:*", "", ""}, {"*amazonlinux/amazonlinux:*", "", ""},
    {"oraclelinux:*", "", ""},
    {"archlinux:*", "", ""}, {"opensuse/*", "", ""}, {"*ubi?/*", "", ""},
    {"buildpack-deps:*", "", ""}, {"*bitnami/minideb:*", "", ""},
    // Servers that an application configures.
    {"nginxinc/nginx-unprivileged:*", "", "nginx -g 'daemon off;'", 8080, "nginx"},
    {"nginx:*", "", "nginx -g 'daemon off;'", 80},
    {"openresty/openresty:*", "", "openresty -g 'daemon off;'", 80},
    {"httpd:*", "", "httpd -DFOREGROUND", 80},
    {"haproxy:*", "", "haproxy -f /usr/local/etc/haproxy/haproxy.cfg", 0, "haproxy"},
    {"*envoyproxy/envoy*", "", "envoy -c /etc/envoy/envoy.yaml", 10000, "envoy"},
    {"traefik:*", "", "traefik", 80, "traefik"},
    {"caddy:*", "", "caddy run --config /etc/caddy/Caddyfile --adapter caddyfile", 80},
    {"tomcat:*", "", "catalina.sh run", 8080},
    {"grafana/k6:*", "k6", ""},
};
constexpr std::string_view kPrograms[] = {
    "node", "nodejs", "nodemon", "npm", "npx", "yarn", "pnpm", "pnpx", "corepack", "ts-node", "tsx",
    "next", "nest", "pm2", "bun", "bunx", "deno", "serve",
    "python", "pypy3", "pip", "pipenv", "poetry", "uv", "uvx", "gunicorn", "uvicorn", "hypercorn",
    "daphne", "flask",
    "fastapi", "celery", "django-admin", "waitress-serve", "streamlit", "ruby", "bundle", "rails",
    "rake", "rackup",
    "puma", "unicorn", "sidekiq", "java", "mvn", "gradle", "kotlin", "scala", "sbt", "dotnet", "go",
    "air", "reflex", "cargo",
    "php", "php-fpm", "apache2-foreground", "composer", "perl", "mix", "elixir", "iex", "erl",
    "nginx", "httpd", "caddy",
    "traefik", "envoy", "haproxy", "sh", "bash", "ash", "dash", "zsh", "env", "exec", "tini",
    "dumb-init", "gosu", "su-exec",
    "make", "supervisord", "curl", "wget", "cd", "echo", "cat", "tail", "sleep", "true"};
// clang-format on

// "docker.io/library/node:20@sha256:…" -> "node:20".
std::string plain_name(std::string_view image) {
  image = image.substr(0, image.find('@'));
  for (const std::string_view hub : {"docker.io/", "index.docker.io/", "registry.hub.docker.com/",
                                     "public.ecr.aws/docker/", "mirror.gcr.io/", "library/"}) {
    if (image.starts_with(hub)) image.remove_prefix(hub.size());
  }
  const size_t slash = image.rfind('/');
  const bool tagged = image.find(':', slash == image.npos ? 0 : slash) != image.npos;
  return std::string(image) + (tagged ? "" : ":latest");
}

bool is_script(std::string_view word) {
  return word.ends_with(".js") || word.ends_with(".mjs") || word.ends_with(".cjs") ||
         word.ends_with(".ts");
}

}  // namespace

const ImageRow* known_image(std::string_view image) {
  const std::string name = plain_name(image);
  const auto* const row =
      std::find_if(std::begin(kImages), std::end(kImages),
                   [&](const auto& one) { return glob_match(one.pattern, name); });
  return row == std::end(kImages) ? nullptr : row;
}

std::string completed(const ImageRow& image, const std::string& command) {
  const std::string given = command.empty() ? std::string(image.command) : command;
  if (!image.entry.empty()) return std::string(image.entry) + (given.empty() ? "" : " ") + given;
  const std::string_view word = std::string_view(given).substr(0, given.find(' '));
  const bool argument = word.starts_with('-') || is_script(word);
  return (argument && !image.otherwise.empty() ? std::string(image.otherwise) + " " : "") + given;
}

bool begins_with_program(std::string_view command) {
  std::string_view word = command.substr(0, command.find(' '));
  if (word.starts_with('-')) return false;
  if (word.find('/') != word.npos) return true;
  while (!word.empty() && (word.back() == '.' || (word.back() >= '0' && word.back() <= '9')))
    word.remove_suffix(1);  // python3.11
  return std::find(std::begin(kPrograms), std::end(kPrograms), word) != std::end(kPrograms);
}

}  // namespace filibuster::init
