package snippets_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const leat = "github.com/leat-go/leat/"

// imports are the packages that blocks may use, by path; the value is the name if it is
// not the last part of the path.
var imports = map[string]string{
	"context": "", "crypto/tls": "", "crypto/x509": "", "errors": "", "fmt": "", "log/slog": "", "net/http": "", "os": "", "os/signal": "", "syscall": "", "time": "", "database/sql": "",
	"github.com/ThreeDotsLabs/watermill":                           "",
	"github.com/ThreeDotsLabs/watermill/components/cqrs":           "",
	"github.com/ThreeDotsLabs/watermill/message":                   "",
	"github.com/ThreeDotsLabs/watermill/message/router/middleware": "wm",
	"github.com/jackc/pgx/v5":                                      "pgx",
	"github.com/jackc/pgx/v5/pgxpool":                              "",
	"github.com/rabbitmq/amqp091-go":                               "amqp091",
	"github.com/redis/go-redis/v9":                                 "redis",
	"github.com/twmb/franz-go/pkg/kgo":                             "",
	"github.com/twmb/franz-go/pkg/sasl/scram":                      "",
	"go.opentelemetry.io/otel/propagation":                         "",
	"go.opentelemetry.io/otel/trace":                               "",
	leat + "dedupe":                                                "", leat + "dedupe/httpdedupe": "", leat + "dedupe/pgdedupe": "",
	leat + "dedupe/redisdedupe": "", leat + "inbox": "", leat + "inbox/admin": "", leat + "inbox/driver": "", leat + "inbox/kafkasource": "", leat + "inbox/pginbox": "", leat + "inbox/pgwatermark": "", leat + "inbox/sqlinbox": "",
	leat + "inbox/rediscache": "", leat + "inbox/twotier": "", leat + "middleware": "", leat + "middleware/otelleat": "",
	leat + "middleware/metrics": "", leat + "middleware/dashboard": "", leat + "middleware/content": "",
	leat + "outbox": "", leat + "outbox/admin": "outboxadmin", leat + "outbox/driver": "outboxdriver", leat + "outbox/kafkasink": "", leat + "outbox/pgoutbox": "", leat + "outbox/redissink": "", leat + "outbox/relay": "",
	leat + "outbox/wmforward": "", leat + "outbox/sqlforward": "", leat + "outbox/sqloutbox": "", leat + "outbox/wmoutbox": "", leat + "outbox/wmsink": "", leat + "outbox/httpsink": "", leat + "inbox/webhook": "",
	leat + "outbox/adopt": "", leat + "outbox/debezium": "",
	"github.com/leat-go/leat": "", leat + "inbox/inboxtest": "", leat + "inbox/meminbox": "", leat + "outbox/memoutbox": "", leat + "outbox/outboxtest": "",
	leat + "middleware/content/registry": "", "github.com/twmb/franz-go/pkg/sr": "",
}

// block is a block of Go code in a document.
type block struct {
	file  string
	line  int // of its first line of code
	given string
	code  string
	// elsewhere is set for a block that another module compiles: its comment says which
	// file holds it, and a test beside that file compares the two.
	elsewhere bool
}

// blocks returns the blocks of a document.
func blocks(file, text string) []block {
	var found []block
	var open *block
	given, elsewhere := "", false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && strings.HasPrefix(line, "```"):
			found, open, given = append(found, *open), nil, ""
		case open != nil:
			open.code += line + "\n"
		case line == "```go":
			open = &block{file: file, line: i + 2, given: given, elsewhere: elsewhere}
		default:
			elsewhere = strings.HasPrefix(line, "<!-- compiled in: ")
			given, _ = strings.CutPrefix(strings.TrimSuffix(line, " -->"), "<!-- given: ")
			if given == line {
				given = ""
			}
		}
	}
	return found
}

// source returns a file of Go that holds the block in the first way that can be parsed.
func (b block) source(fset *token.FileSet) (*ast.File, error) {
	var head strings.Builder
	head.WriteString("package p\n")
	for path, name := range imports {
		fmt.Fprintf(&head, "import %s %q\n", name, path)
	}
	at := fmt.Sprintf("\n//line %s:%d\n", b.file, b.line)
	params := "ctx context.Context"
	if b.given != "" {
		params += ", " + b.given
	}
	var first error
	wraps := [][2]string{
		{"func _(" + params + ") error {" + at, "\nreturn nil }"},
		{at, ""},
	}
	if strings.HasPrefix(b.code, "func(") {
		wraps = [][2]string{{"func _(" + params + ") { _ = " + at, "\n}"}}
	}
	for _, wrap := range wraps {
		file, err := parser.ParseFile(fset, "", head.String()+wrap[0]+b.code+wrap[1], parser.SkipObjectResolution)
		if err == nil {
			return file, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// checker type-checks blocks against the packages as they are built.
type checker struct {
	fset *token.FileSet
	imp  types.Importer
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for path := range imports {
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	c := &checker{fset: token.NewFileSet()}
	c.imp = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// check returns what is wrong with a block.
func (c *checker) check(b block) []error {
	file, err := b.source(c.fset)
	if err != nil {
		return []error{err}
	}
	var wrong []error
	config := types.Config{Importer: c.imp, Error: func(err error) {
		if e, ok := errors.AsType[types.Error](err); ok && !e.Soft {
			wrong = append(wrong, err)
		}
	}}
	_, _ = config.Check("p", c.fset, []*ast.File{file}, nil) // Error has got them all
	return wrong
}

// TestEverySnippetCompiles: every block of Go code in README.md and docs/ compiles.
func TestEverySnippetCompiles(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	checked, elsewhere := 0, 0
	for _, file := range append(pages(t), "../../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := blocks(strings.TrimPrefix(file, "../../"), string(text))
		require.Len(t, found, strings.Count(string(text), "```go\n"), file)
		for _, b := range found {
			if b.elsewhere {
				elsewhere++
				continue
			}
			checked++
			for _, err := range c.check(b) {
				t.Error(err)
			}
		}
	}
	require.Greater(t, checked, 15)
	require.Equal(t, 7, elsewhere, "those of examples/readme, examples/tutorial, examples/brokers, outbox/mysqlbinlog and outbox/natssink")
}

// TestBrokenSnippetsAreNoticed: the check notices what is broken, and takes what is not.
func TestBrokenSnippetsAreNoticed(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	for i, code := range []string{
		"pgoutbox.NoSuch()",
		"var f func() = inbox.ErrBusy",
		"r, err := relay.New(source)",
		"undeclared.Run(ctx)",
		"func(",
	} {
		require.NotEmpty(t, c.check(block{file: strconv.Itoa(i), line: 1, code: code}), code)
	}
	for i, code := range []string{
		"x, err := pgoutbox.New(nil, pgoutbox.Config{})", // neither is used
		"return errors.New(\"no\")",
		"func() int { return 1 }",
		"func named() error { return nil }\n\ntype t struct{}",
	} {
		require.Empty(t, c.check(block{file: strconv.Itoa(i), line: 1, code: code}), code)
	}
	require.Empty(t, c.check(block{file: "given", line: 1, given: "r *relay.Relay", code: "return r.Run(ctx)"}))
}
