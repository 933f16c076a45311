// Command drawings draws the SVGs of docs/drawings from the texts beside them.
//
//	go run ./internal/proof/exhibits/drawings [FOLDER]
//
// FOLDER is docs/drawings unless it is given.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/leat-go/leat/internal/proof/exhibits/drawing"
)

func main() {
	folder := filepath.Join("docs", "drawings")
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := run(folder); err != nil {
		fmt.Fprintln(os.Stderr, "drawings:", err)
		os.Exit(1)
	}
}

// run draws every text of folder.
func run(folder string) error {
	texts, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return err
	}
	for _, path := range texts {
		text, err := os.ReadFile(path) //nolint:gosec // the caller names the folder
		if err != nil {
			return err
		}
		svg, err := drawing.Draw(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		drawn := strings.TrimSuffix(path, ".txt") + ".svg"
		if err := os.WriteFile(drawn, svg, 0o644); err != nil { //nolint:gosec // everybody may read it
			return err
		}
		fmt.Println(drawn)
	}
	return nil
}
