// Package hooks calls hooks, for every package in the same way. docs/hooks.md has the
// convention and the list of all of them.
package hooks

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// Call calls f with each of hooks that is a K, one after the other. If one panics, the panic is
// logged as an error, and the others are still called: the observed work goes on as if there were
// no hooks.
func Call[K, H any](ctx context.Context, log *slog.Logger, hooks []H, f func(hook K)) {
	for _, h := range hooks {
		if k, ok := any(h).(K); ok {
			call(ctx, log, k, f)
		}
	}
}

func call[K any](ctx context.Context, log *slog.Logger, hook K, f func(hook K)) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "hook panicked", slog.String("hook", fmt.Sprintf("%T", hook)),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	f(hook)
}

// Is reports whether hook is a K.
func Is[K any](hook any) bool {
	_, ok := hook.(K)
	return ok
}

// Only returns those of hooks that are of one of kinds.
func Only[H any](hooks []H, kinds ...func(hook any) bool) []H {
	var some []H
	for _, h := range hooks {
		if isOne(h, kinds) {
			some = append(some, h)
		}
	}
	return some
}

// Refuse returns a configuration error about the first hook that is of none of kinds, which are the
// hook types of the package pkg; nil is of none.
func Refuse[H any](hooks []H, pkg string, kinds ...func(hook any) bool) error {
	i := slices.IndexFunc(hooks, func(h H) bool { return !isOne(h, kinds) })
	if i < 0 {
		return nil
	}
	return outbox.ConfigError(fmt.Sprintf("Hooks[%d]", i), fmt.Sprintf("%T", hooks[i]), "implements no hook interface of package "+pkg)
}

func isOne(hook any, kinds []func(hook any) bool) bool {
	return slices.ContainsFunc(kinds, func(is func(any) bool) bool { return is(hook) })
}
