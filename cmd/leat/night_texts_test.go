package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// goName is a name of Go as texts have it: a field or a function of a package, or a word with capitals in it.
var goName = regexp.MustCompile(`\b[a-z]\w*\.[A-Z]\w+|\bConfig\.[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]\w+\(\)|\b(RunRedrive|SourceConfig|its Maintenance)\b`)

// notOfGo are other words that look like it, functions of SQL, and what a text says to have for Go.
var notOfGo = regexp.MustCompile(`PostgreSQL|MySQL|MariaDB|TiDB|RabbitMQ|JetStream|OpenTelemetry|InnoDB|CloudEvents?|DateStyle|Statement(Begin|End)|[KMGT]iB|` +
	`shop\.v1\.Order|DescribeConfigs|HideHeaders|HidePaths|\b[A-Z_]+\(([A-Z_]+\(\))?\)|\(in Go: .*\)`)

// Texts of the command name commands, flags and fields of the file: whoever is on call writes no Go.
func TestNight_TextsNameNoGo(t *testing.T) {
	t.Parallel()
	var looked int
	require.NoError(t, filepath.WalkDir("internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		textsOf(t, path, func(text string, _ bool, at token.Position) {
			looked++
			require.NotRegexp(t, goName, notOfGo.ReplaceAllString(text, ""), at)
		})
		return nil
	}))
	require.Greater(t, looked, 2000)
}

// textsOf calls each with the texts of a file of Go, and whether they are of a configuration that is refused.
func textsOf(t *testing.T, path string, each func(text string, refusal bool, at token.Position)) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	require.NoError(t, err)
	refusals := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "ConfigError" {
				ast.Inspect(n, func(part ast.Node) bool {
					refusals[part] = true
					return true
				})
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				require.NoError(t, err)
				each(text, refusals[n] || strings.HasPrefix(text, "must "), set.Position(n.Pos()))
			}
		}
		return true
	})
}

// bareNames are texts that are names and nothing else, such as fields that are refused: those that the file has are told as it has them.
var bareNames = regexp.MustCompile(`^[\w.\[\]%$/:-]+(, [\w.\[\]%]+)*(\(%d\))?$`)

// forGo are texts of the library that name Go and are read by nobody but whoever writes it, each with the reason.
var forGo = map[string]string{
	"`SourceConfig.Topics`": "a cell of the page moved.md", "`SourceConfig.Group`": "a cell of the page moved.md", "`relay.Config.Expect`": "a cell of the page moved.md",

	"%w: the context carries no pgx.Tx or *sql.Tx":                                                                                                "producers enqueue in Go",
	"%w: the context carries no *sql.Tx":                                                                                                          "producers enqueue in Go",
	"%w: %d, and Config.MaxKeyLocks = %d: pass all messages to one call of Enqueue, or commit in between":                                         "producers enqueue in Go",
	"leat: rows of a query are still open as the transaction is to commit: close them, or read them with pgx.CollectRows":                         "producers enqueue in Go",
	"leat: InSQLTx needs an outbox of pgoutbox.NewSQL; with a pgx pool, use InTx":                                                                 "producers enqueue in Go",
	"must use pgx's driver, *stdlib.Driver; with another one, such as lib/pq, give New a pgx pool for the relay, and EnqueueSQL the transactions": "the command opens databases itself",
	"must use pgx's driver, *stdlib.Driver":                                                                                                       "the command opens databases itself",
	"leat: no connection of the *sql.DB became free to learn its address and password from: ":                                                     "the command opens databases itself",
	"give it one more (SetMaxOpenConns), or call Migrate at start":                                                                                "the command opens databases itself",
	"must be one address unless MasterName is set: Redis Cluster is not supported":                                                                "the command makes the client",

	"must be PartitionByFormat, PartitionJava or PartitionSarama":                                              "the file has words, which are checked before",
	"must be FormatLeat or FormatWatermill":                                                                    "the file has words, which are checked before",
	"must be AckSynced, AckReplicas or AckMemory":                                                              "the file has words, which are checked before",
	"%w: SourceConfig.SyncPositions is off, so that the server may give its transaction numbers out twice":     "the daemon sets it",
	"%w: its sessions implement no driver.Positioned, which a TransactionalSink needs":                         "of stores that others write; leat's are refused before",
	"must be stated unless KeepPosition (%t) or Unsettled (%t) is set":                                         "leat rebase wants its flags before",
	"must come from MaintainOutbox or MaintainInbox":                                                           "of programs that are a daemon",
	"must not be more than MaxValues, %d":                                                                      "the daemon leaves it at what it is",
	"leat: the forwarder's table has no transaction_id, such as PostgreSQLQueueSchema's, which keeps no order": "what Watermill calls it",

	"leat: the handler has left rows of a query open: close them, or read them with pgx.CollectRows":                  "handlers are written in Go",
	"times MaxBatch (%d) must not exceed %d: the claims of a batch are locks of a pool that the whole cluster shares": "handlers are run by services",
	"must be positive, or NoDelay":                                                  "handlers are run by services",
	"OnFailure.Action = block gives nothing up":                                     "handlers are run by services",
	"is less than OnFailure.Delay = ":                                               "handlers are run by services",
	"keeps no messages: RunRedrive needs a driver.Parker":                           "handlers are run by services",
	"are not for HandleQueued, which sends COMMIT before there is anything to keep": "handlers are run by services",
	"is required, such as the Scope of a pginbox.Inbox":                             "handlers are run by services",
}

// Whatever the command and the daemon show of the library, in its log, on the dashboard, in the outage of a destination or as the last
// error of a record, names no field or function of Go either. What a configuration is refused for has fields, which are
// told as the file has them.
func TestNight_TextsOfTheLibraryNameNoGo(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	looked, used := map[string]bool{}, map[string]bool{}
	for name := range strings.FieldsSeq(string(out)) {
		dir, ok := strings.CutPrefix(name, "github.com/leat-go/leat/")
		if !ok || strings.HasPrefix(dir, "cmd/leat/internal/") {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		require.NoError(t, err)
		looked[dir] = len(files) > 0
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			textsOf(t, path, func(text string, refusal bool, at token.Position) {
				if _, ok := forGo[text]; ok {
					used[text] = true
					return
				}
				if bareNames.MatchString(text) {
					return
				}
				said := text
				if refusal {
					said = settings.InFile("leat: invalid configuration: " + text)
				}
				assert.NotRegexp(t, goName, notOfGo.ReplaceAllString(said, ""), at)
			})
		}
	}
	for _, dir := range []string{
		"outbox", "outbox/relay", "outbox/admin", "outbox/pgoutbox", "outbox/sqloutbox", "outbox/wmforward", "outbox/kafkasink", "outbox/amqpsink", "outbox/redissink", "outbox/natssink",
		"outbox/httpsink", "inbox", "inbox/pginbox", "inbox/sqlinbox", "inbox/pgwatermark", "middleware/dashboard", "middleware/metrics", "internal/basis", "cmd/leat/daemon",
	} {
		require.True(t, looked[dir], dir)
	}
	for text, reason := range forGo {
		require.True(t, used[text], "%q, %s: is gone", text, reason)
	}
}

// What a library's error calls a field, the file has under another name, and so has whoever reads the file.
func TestNight_ErrorsNameFieldsOfTheFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"leat: kafka has no topic: create it, or let the sink do so (Config.AllowAutoTopicCreation, with …)": "leat: kafka has no topic: create it, or let the sink do so (allow_auto_topic_creation, with …)",
		"leat: invalid configuration: PageSize = 0: must be 1 to 100000":                                     "leat: invalid configuration: page_size = 0: must be 1 to 100000",
		"leat: invalid configuration: Slots = 2: must be 1 with a Tail":                                      "leat: invalid configuration: slots = 2: must be 1 with a tail",
		"connect the relay directly, or set SourceConfig.NoListen":                                           "connect the relay directly, or set no_listen",
		"Table of kafka.Topics at URL: Time":                                                                 "Table of kafka.Topics at URL: Time",
	} {
		require.Equal(t, want, settings.InFile(text))
	}
}
