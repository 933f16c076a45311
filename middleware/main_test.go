package middleware_test

import (
	"testing"

	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// must returns v, what a test configures well.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
