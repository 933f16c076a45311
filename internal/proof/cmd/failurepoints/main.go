// Command failurepoints writes the page about leat's failure points. It fails if code does not reach a
// point, or if a point is not tested with every kind of failure.
//
//	go run ./cmd/failurepoints
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leat-go/leat/internal/proof/points"
	"github.com/leat-go/leat/internal/proof/repo"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	root, err := repo.Root(".")
	if err != nil {
		return err
	}
	wrong, err := points.Audit(root, points.Checks())
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d things are wrong:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	page, err := points.Page(root, points.Checks())
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(root, filepath.FromSlash(points.PageFile)), []byte(page), 0o644) //nolint:gosec // a page for everyone
}
