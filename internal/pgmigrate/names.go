package pgmigrate

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/sqlfile"
)

// maxNameBytes is PostgreSQL's bound on an identifier. Longer names are cut silently, and two that
// differ only beyond it become one.
const maxNameBytes = 63

// versionSuffix ends the name of the table that records the applied migrations.
const versionSuffix = "_migrations"

// bodyQuote quotes the bodies of functions in SQL files, and nothing else, so that no name can end
// a body.
const bodyQuote = "$leat$"

// ErrInvalidName is returned for names of schemas and tables that cannot be
// used. The text says which and why.
var ErrInvalidName = errors.New("leat: invalid name")

// Names are a schema and the table that all other names are derived from by a
// suffix.
type Names struct {
	Schema, Table string
}

// Qualified returns the quoted name "schema"."table<suffix>".
func (n Names) Qualified(suffix string) string {
	return pgx.Identifier{n.Schema, n.Table + suffix}.Sanitize()
}

// Unqualified returns the quoted name "table<suffix>", as indexes and
// constraints are named where they are created.
func (n Names) Unqualified(suffix string) string {
	return pgx.Identifier{n.Table + suffix}.Sanitize()
}

// Literal returns Qualified(suffix) as an SQL string literal, to be cast to
// regclass.
func (n Names) Literal(suffix string) string {
	return literal(n.Qualified(suffix))
}

// Validate returns an error that wraps ErrInvalidName if the schema, the table or the table with
// one of the suffixes cannot be a name: empty, longer than 63 bytes, not UTF-8, or with characters
// that do not print.
func (n Names) Validate(suffixes ...string) error {
	if err := validateName("schema", n.Schema); err != nil {
		return err
	}
	if err := validateName("table", n.Table); err != nil {
		return err
	}
	for _, s := range suffixes {
		if full := n.Table + s; len(full) > maxNameBytes {
			return fmt.Errorf("%w: table %q: %q is longer than %d bytes", ErrInvalidName, n.Table, full, maxNameBytes)
		}
	}
	return nil
}

func validateName(what, name string) error {
	var reason string
	switch {
	case name == "":
		reason = "is empty"
	case len(name) > maxNameBytes:
		reason = fmt.Sprintf("is longer than %d bytes", maxNameBytes)
	case !utf8.ValidString(name):
		reason = "is not valid UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		reason = "has characters that do not print"
	case strings.Contains(name, "{{"):
		reason = "contains {{, which tern would take for a template"
	case strings.Contains(name, bodyQuote):
		reason = "contains " + bodyQuote + ", which quotes the bodies of functions"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s %q %s", ErrInvalidName, what, name, reason)
}

// Render returns sql with its tokens replaced:
//
//	@{schema}        the schema, quoted
//	@{}              the table, quoted and qualified by the schema
//	@{_suffix}       likewise, with the suffix added to the table's name
//	@{name:_suffix}  likewise, not qualified (indexes, constraints)
//	@{text:_suffix}  the qualified name as a string literal, for ::regclass
//	@{primary}       pgerr.Primary, a condition that fails on a standby
//
// It returns an error for a token that is none of these, so that a misspelt one
// does not reach the server.
func (n Names) Render(sql string) (string, error) {
	return sqlfile.Replace(sql, func(token string) (string, bool) {
		switch token {
		case "schema":
			return pgx.Identifier{n.Schema}.Sanitize(), true
		case "primary":
			return pgerr.Primary, true
		}
		form, suffix := split(token)
		known := sqlfile.IsSuffix(suffix)
		switch form {
		case "":
			return n.Qualified(suffix), known
		case "name":
			return n.Unqualified(suffix), known
		case "text":
			return n.Literal(suffix), known
		default:
			return "", false
		}
	})
}

// split returns the form of a token, "" for the usual one, and its suffix.
func split(token string) (form, suffix string) {
	form, suffix, found := strings.Cut(token, ":")
	if !found {
		return "", token
	}
	return form, suffix
}

// suffixes returns the suffixes that the tokens of sql use.
func suffixes(sql string) []string {
	var found []string
	_, _ = sqlfile.Replace(sql, func(token string) (string, bool) {
		if _, suffix := split(token); token != "schema" {
			found = append(found, suffix)
		}
		return "", true
	})
	return found
}

// literal quotes s as an SQL string. Backslashes in names are harmless, since
// standard_conforming_strings is on wherever pgx connects.
func literal(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
