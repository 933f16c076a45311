// Command release keeps the go.mod files of leat's modules in step, and releases the modules.
// It works on the repository around the working directory, and pushes nothing.
//
// Its arguments are one of
//
//	tidy          go mod tidy in every module, and go.work with its checksums
//	api           compare the stable packages with the last release
//	tag v0.1.0    commit and tag a release of every module that users can require, and write
//	              its bills of materials and checksums to dist/v0.1.0
//	rehearse      release a clone, then use it as a user without a clone would
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: release tidy | api | tag VERSION | rehearse")

func run(ctx context.Context, args []string, out io.Writer) error {
	r, err := find(ctx, ".", out)
	switch {
	case err != nil:
		return err
	case len(args) == 2 && args[0] == "tag":
		return r.release(ctx, args[1])
	case len(args) != 1:
		return errUsage
	}
	switch args[0] {
	case "tidy":
		return r.tidy(ctx)
	case "api":
		return r.checkAPI(ctx)
	case "rehearse":
		return r.rehearse(ctx)
	}
	return errUsage
}
