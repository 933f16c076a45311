package sqldialect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/sqlfile"
)

// MaxTableBytes bounds the common prefix of a store's table names: MySQL's bound of 64 characters,
// less the longest suffix.
const MaxTableBytes = 48

// ErrTable is wrapped by the errors of CheckTable.
var ErrTable = errors.New("leat: invalid table name")

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckTable refuses an invalid prefix of table names: it must be ASCII letters, digits and
// underscores, not beginning with a digit, of at most MaxTableBytes.
func CheckTable(table string) error {
	if len(table) > MaxTableBytes || !plainName.MatchString(table) {
		return fmt.Errorf("%w: %.100q: must be letters, digits and underscores, at most %d", ErrTable, table, MaxTableBytes)
	}
	return nil
}

// Render returns sql with its tokens replaced:
//
//	@{}             the table, quoted
//	@{_suffix}      the table whose name ends in the suffix, quoted
//	@{now}          Now
//	@{later}        Later
//	@{for_update}   ForUpdate
//	@{skip_locked}  SkipLocked
//	@{nowait}       NoWait
//	@{insert_ignore} InsertIgnore
//	@{server}       Server
//	@{same_server}  SameServer
//	@{database}     Database
//
// It returns an error for a token that is none of these, so that a misspelt one does not
// reach the database.
func (d Dialect) Render(table, sql string) (string, error) {
	words := map[string]string{
		"now": d.Now, "later": d.Later, "for_update": d.ForUpdate, "skip_locked": d.SkipLocked, "nowait": d.NoWait, "insert_ignore": d.InsertIgnore,
		"database": d.Database, "server": d.Server, "same_server": d.SameServer,
	}
	return sqlfile.Replace(sql, func(name string) (string, bool) {
		if word, ok := words[name]; ok {
			return word, true
		}
		return "`" + table + name + "`", sqlfile.IsSuffix(name)
	})
}

// Literal is a value in SQL syntax.
type Literal string

// Int is the literal of a whole number.
func Int(n int64) Literal { return Literal(strconv.FormatInt(n, 10)) }

// Bytes is the literal of bytes.
func Bytes(b []byte) Literal { return Literal("x'" + hex.EncodeToString(b) + "'") }

// Inline returns query with literals instead of its parameters, one for each. A driver that does not do
// so itself prepares a statement with parameters before it runs it, which costs a round trip.
func Inline(query string, literals ...Literal) string {
	text := make([]byte, 0, len(query)+128)
	for _, l := range literals {
		head, tail, _ := strings.Cut(query, "?")
		text = append(append(text, head...), l...)
		query = tail
	}
	return string(append(text, query...))
}

// Places returns n parameters of a list, such as "?, ?, ?".
func Places(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// Rows returns n rows of VALUES with the given parameters each, such as "(?, ?), (?, ?)".
func Rows(n int, row string) string {
	return strings.TrimSuffix(strings.Repeat("("+row+"), ", n), ", ")
}
