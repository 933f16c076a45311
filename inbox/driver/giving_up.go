package driver

import "context"

type givingUpKey struct{}

// WithGivingUp returns a child of ctx for a claim that gives a message up.
func WithGivingUp(ctx context.Context) context.Context {
	return context.WithValue(ctx, givingUpKey{}, true)
}

// GivingUp reports whether a claim with ctx is for giving a message up: its transaction must not
// contain any of the handler's effects. It matters to a Store that runs statements of the handler
// with the claim.
func GivingUp(ctx context.Context) bool {
	yes, _ := ctx.Value(givingUpKey{}).(bool)
	return yes
}
