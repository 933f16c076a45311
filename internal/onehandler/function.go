package onehandler

import (
	"context"
	"reflect"
	"runtime"
)

// The names of functions begin with one of these. A consumer may have one of each kind: a
// handler of single messages, and one of batches.
const (
	single = "func "
	batch  = "batch func "
)

// Function is the name of a handler without a router's name: the name of its function. Functions
// that one line of code makes have one name.
func Function(handle any) string { return single + nameOf(handle) }

// BatchFunction is Function for a handler of batches.
func BatchFunction(handle any) string { return batch + nameOf(handle) }

func nameOf(handle any) string {
	v := reflect.ValueOf(handle)
	if v.Kind() != reflect.Func || v.IsNil() {
		return "nil"
	}
	return runtime.FuncForPC(v.Pointer()).Name()
}

type nameKey struct{}

// named is the name of the handler that owner runs.
type named struct {
	owner any
	name  string
}

// With returns a context that names the handler of owner, which wraps it. Owner is a
// pointer.
func With(ctx context.Context, owner any, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, named{owner, name})
}

// From returns the name that With gave to the handler of owner, or else name.
func From(ctx context.Context, owner any, name string) string {
	if n, ok := ctx.Value(nameKey{}).(named); ok && n.owner == owner {
		return n.name
	}
	return name
}
