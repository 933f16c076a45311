package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// sums is the file of checksums of all other files, as sha256sum --check reads it.
	sums = "SHA256SUMS"
	// moduleSums is the file with the lines of a go.sum.
	moduleSums = "modules.sum"
)

// materials writes to dir the files that are published with the tags: a software bill of materials of each
// module, as CycloneDX's JSON, the checksums of the modules as in a go.sum, and the checksums of these
// files. The bill of the command describes its binary, which u has installed. On one platform the same
// commit always has the same files.
func (u *user) materials(ctx context.Context, c *repo, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is published
		return err
	}
	tool, err := output(ctx, c.root, []string{"GOWORK=off"}, "go", "tool", "-n", "-modfile=.ci/tools/go.mod", "cyclonedx-gomod")
	if err != nil {
		return err
	}
	released, err := c.toRelease()
	if err != nil {
		return err
	}
	files, err := u.boms(ctx, strings.TrimSpace(tool), c, released)
	if err != nil {
		return err
	}
	for _, m := range released {
		lines, err := c.sums(m, c.version)
		if err != nil {
			return err
		}
		files[moduleSums] = append(files[moduleSums], strings.Join(lines, "")...)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		files[sums] = fmt.Appendf(files[sums], "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // it is published
			return err
		}
	}
	return nil
}

// bomName returns the name of the file of m's bill of materials, such as leat-outbox-natssink.cdx.json.
func bomName(m module) string {
	return strings.TrimSuffix("leat-"+strings.ReplaceAll(m.dir, "/", "-"), "-.") + ".cdx.json"
}

// boms returns the bills of materials of modules, by their file names. It makes two at a time, since each
// mostly waits for go list.
func (u *user) boms(ctx context.Context, tool string, c *repo, modules []module) (map[string][]byte, error) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, 2)
	texts, errs := make([][]byte, len(modules)), make([]error, len(modules))
	for i, m := range modules {
		wg.Go(func() {
			turns <- struct{}{}
			texts[i], errs[i] = u.bom(ctx, tool, c, m)
			<-turns
		})
	}
	wg.Wait()
	files := map[string][]byte{}
	for i, m := range modules {
		files[bomName(m)] = texts[i]
	}
	return files, errors.Join(errs...)
}

// bom returns the bill of materials of m. It lists what the packages of m import or, for the command, the
// packages that are linked. It is the same each time, since it has neither a time nor a serial number.
func (u *user) bom(ctx context.Context, tool string, c *repo, m module) ([]byte, error) {
	kind, target := []string{"mod", "-type", "library"}, "."
	if m.dir == "cmd/leat" {
		kind, target = []string{"bin", "-version", c.version}, filepath.Join(u.dir, "bin", "leat")
	}
	args := slices.Concat(kind, []string{"-json", "-noserial", "-notimestamp", "-short-purls", target})
	env := slices.Concat(u.env, []string{"GOFLAGS=-mod=readonly"})
	text, err := output(ctx, c.file(m.dir), env, tool, args...)
	if err != nil {
		return nil, err
	}
	var b bom
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	metadata, _ := all["metadata"].(map[string]any)
	main, ok := metadata["component"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s writes no metadata.component about %s", filepath.Base(tool), m.path)
	}
	// The tool derives versions only from tags of the root.
	main["version"], main["purl"] = c.version, purl(m, c.version)
	// The binary of the tool differs on each machine.
	tools, _ := metadata["tools"].([]any)
	for _, t := range tools {
		if t, ok := t.(map[string]any); ok {
			delete(t, "hashes")
		}
	}
	full, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	was, is := strconv.Quote(b.Metadata.Component.Ref), strconv.Quote(purl(m, c.version)+"?type=module")
	return append(bytes.ReplaceAll(full, []byte(was), []byte(is)), '\n'), nil
}

// purl returns the package URL of m at version.
func purl(m module, version string) string {
	return "pkg:golang/" + m.path + "@" + version
}

// bom contains the parts of a bill of materials that are checked.
type bom struct {
	BOMFormat, SpecVersion string
	Metadata               struct{ Component component }
	Components             []component
}

type component struct {
	Name, Version, PURL string
	Ref                 string `json:"bom-ref"`
}

// checkMaterials reads the files that materials has written, like a user who relies on them. Each module
// must have a bill that names the module and the siblings that it uses at this version, and the checksums
// must be right.
func (u *user) checkMaterials(c *repo, dir string) error {
	released, err := c.toRelease()
	if err != nil {
		return err
	}
	read := func(name string) []byte {
		text, failed := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // just written
		err = errors.Join(err, failed)
		return text
	}
	listed, modules := string(read(sums)), string(read(moduleSums))
	var components int
	for _, m := range released {
		var b bom
		if failed := json.Unmarshal(read(bomName(m)), &b); failed != nil {
			return errors.Join(err, fmt.Errorf("%s: %w", bomName(m), failed))
		}
		siblings, failed := c.siblings(m)
		if failed != nil {
			return failed
		}
		components += len(b.Components)
		err = errors.Join(err, b.check(m, siblings, c.version))
		if !strings.Contains(modules, m.path+" "+c.version+" h1:") {
			err = errors.Join(err, fmt.Errorf("%s has no line for %s %s", moduleSums, m.path, c.version))
		}
		if known, failed := os.ReadFile(filepath.Join(u.dir, "user"+strings.ReplaceAll(m.dir, "/", "-"), "go.sum")); failed == nil { // written by require
			err = errors.Join(err, agree(string(known), modules, m.path+" "+c.version+" "))
		}
	}
	entries, failed := os.ReadDir(dir)
	err = errors.Join(err, failed)
	for _, e := range entries {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(read(e.Name())), e.Name()); e.Name() != sums && !strings.Contains(listed, line) {
			err = errors.Join(err, fmt.Errorf("%s is not what %s says of it", e.Name(), sums))
		}
	}
	if err != nil {
		return err
	}
	return u.say(fmt.Sprintf("%d bills of materials with %d components, and their checksums", len(released), components))
}

// check refuses a bill that does not describe m at version.
func (b *bom) check(m module, siblings []module, version string) error {
	if b.BOMFormat != "CycloneDX" || b.SpecVersion == "" {
		return fmt.Errorf("%s: bomFormat is %q, specVersion %q", bomName(m), b.BOMFormat, b.SpecVersion)
	}
	for _, about := range append([]module{m}, siblings...) {
		want := component{Name: about.path, Version: version, PURL: purl(about, version)}
		found := slices.ContainsFunc(append(b.Components, b.Metadata.Component), func(c component) bool {
			c.Ref = ""
			return c == want
		})
		if !found {
			return fmt.Errorf("%s does not name %s %s", bomName(m), about.path, version)
		}
	}
	return nil
}

// agree fails if the lines of two go.sum that begin with prefix are not the same.
func agree(one, other, prefix string) error {
	find := func(text string) string {
		_, rest, _ := strings.Cut(text, prefix)
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	if a, b := find(one), find(other); a != b {
		return fmt.Errorf("checksums of %sdiffer: %q in the go.sum of a user, %q in %s", prefix, a, b, moduleSums)
	}
	return nil
}
