// Package txctx carries a database transaction in a context. It is the only place where a
// transaction is an any: adapters store and retrieve their own type and give users typed accessors.
package txctx

import "context"

type key struct{}

// With returns a context that carries tx.
func With(ctx context.Context, tx any) context.Context {
	return context.WithValue(ctx, key{}, tx)
}

// From returns the transaction that ctx carries, or nil.
func From(ctx context.Context) any {
	return ctx.Value(key{})
}

// As returns the transaction that ctx carries if it is a T.
func As[T any](ctx context.Context) (T, bool) {
	tx, ok := From(ctx).(T)
	return tx, ok
}
