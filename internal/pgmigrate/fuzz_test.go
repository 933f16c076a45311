package pgmigrate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgmigrate"
)

// everyForm has each token once, in a place where the server would read on if the
// name could end it.
const everyForm = `-- about @{}
CREATE TABLE @{} (x text DEFAULT 'it''s'); SELECT @{_a}.x, @{text:_b}::regclass, "quoted" FROM @{schema}.x AS @{name:_c}`

// FuzzRender: no name of a schema or table that Validate lets pass can change what a
// statement says. A lexer of SQL must find the same statement, with the name where
// an identifier or a text stood, and nothing else.
func FuzzRender(f *testing.F) {
	for _, name := range []string{
		"leat", `a"b`, "it's", `\'; drop table x; --`, `"; drop schema public; --`, "$$", "$1", "x/*", "*/", "--", "@{}", "@{schema}",
		"a\x00", "a\nb", "\u2028", "{{", "{ {", "%s", strings.Repeat("é", 31), strings.Repeat("x", 60), "\xff", " ", "E'", ":name", "?",
	} {
		f.Add(name, "outbox")
		f.Add("leat", name)
	}
	statements := ownStatements(f)
	f.Fuzz(func(t *testing.T, schema, table string) {
		names := pgmigrate.Names{Schema: schema, Table: table}
		if err := names.Validate("_a", "_b", "_c"); err != nil {
			require.ErrorIs(t, err, pgmigrate.ErrInvalidName)
			require.LessOrEqual(t, len(err.Error()), 200+4*(len(schema)+len(table)))
			return
		}
		require.LessOrEqual(t, len(schema), 63)
		require.True(t, utf8.ValidString(schema+table))
		requireSame(t, names, everyForm)
		requireSame(t, names, statements[(len(schema)*64+len(table))%len(statements)])
	})
}

// TestRender_OwnStatements is FuzzRender's for each of leat's statements.
func TestRender_OwnStatements(t *testing.T) {
	t.Parallel()
	for _, sql := range ownStatements(t) {
		require.NotRegexp(t, `\$\w*\$|/\*`, strings.ReplaceAll(sql, "$leat$", ""), "a name could end such a quote or comment")
		for _, name := range []string{"$$", `"`, "'", `\`, "--", "/*", "*/", "@{}", "$1"} {
			requireSame(t, pgmigrate.Names{Schema: name, Table: name}, sql)
		}
	}
}

// ownStatements are the SQL files of this module.
func ownStatements(tb testing.TB) (all []string) {
	tb.Helper()
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"*/*/sql/*.sql", "*/*/migrations/*.sql", "*/*/*/sql/*.sql", "*/*/*/migrations/*.sql"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(tb, err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(tb, err)
			if _, err := (pgmigrate.Names{Schema: "s", Table: "t"}).Render(string(raw)); err == nil {
				all = append(all, string(raw))
			}
		}
	}
	require.Greater(tb, len(all), 150)
	return all
}

// requireSame renders sql with plain names and with names, and compares what a lexer
// finds.
func requireSame(t *testing.T, names pgmigrate.Names, sql string) {
	t.Helper()
	const schema, table = "plainschema", "plaintable"
	plain, err := pgmigrate.Names{Schema: schema, Table: table}.Render(sql)
	require.NoError(t, err)
	rendered, err := names.Render(sql)
	require.NoError(t, err)
	want, got := lex(plain), lex(rendered)
	require.Len(t, got, len(want), "%s", rendered)
	quoted := func(suffix string) string { return pgx.Identifier{schema, table + suffix}.Sanitize() }
	for i, w := range want {
		switch w.kind {
		case 'c': // comments, of whatever the name says
		case 'i':
			if suffix, ok := strings.CutPrefix(w.text, table); ok {
				w.text = names.Table + suffix
			} else if w.text == schema {
				w.text = names.Schema
			}
		case 's':
			if suffix, ok := strings.CutPrefix(strings.TrimSuffix(w.text, `"`), strings.TrimSuffix(quoted(""), `"`)); ok {
				w.text = names.Qualified(suffix)
			}
		}
		if w.kind == 'c' {
			require.Equal(t, w.kind, got[i].kind)
			continue
		}
		require.Equal(t, w, got[i], "%s", rendered)
	}
}

// lexeme is a piece of SQL: an identifier in quotes, a string or a comment, without
// what encloses it; or one character.
type lexeme struct {
	kind rune // i, s, c, or .
	text string
}

// lex is as PostgreSQL reads with standard_conforming_strings, as far as leat's
// statements need it.
func lex(sql string) (all []lexeme) {
	for sql != "" {
		var l lexeme
		switch {
		case strings.HasPrefix(sql, "--"):
			line, rest, _ := strings.Cut(sql, "\n")
			l, sql = lexeme{'c', line}, rest
		case strings.HasPrefix(sql, "/*"):
			comment, rest, _ := strings.Cut(sql, "*/")
			l, sql = lexeme{'c', comment}, rest
		case sql[0] == '"':
			l.kind = 'i'
			l.text, sql = enclosed(sql, '"')
		case sql[0] == '\'':
			l.kind = 's'
			l.text, sql = enclosed(sql, '\'')
		default:
			l, sql = lexeme{'.', sql[:1]}, sql[1:]
		}
		all = append(all, l)
	}
	return slices.DeleteFunc(all, func(l lexeme) bool { return l.kind == '.' && l.text == " " })
}

// enclosed returns the text in front of sql that is enclosed in quote, which stands
// in it twice for once, and the rest.
func enclosed(sql string, quote byte) (text, rest string) {
	var b strings.Builder
	for i := 1; i < len(sql); i++ {
		if sql[i] != quote {
			b.WriteByte(sql[i])
			continue
		}
		if i+1 == len(sql) || sql[i+1] != quote {
			return b.String(), sql[i+1:]
		}
		b.WriteByte(quote)
		i++
	}
	return b.String(), ""
}
