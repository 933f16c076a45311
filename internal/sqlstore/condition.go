package sqlstore

import (
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
)

// Condition is a WHERE that grows: all added parts must hold. The zero value always holds.
type Condition struct {
	Args []any

	text strings.Builder
}

// And adds text with its parameters.
func (c *Condition) And(text string, args ...any) {
	if c.text.Len() > 0 {
		c.text.WriteString(" AND ")
	}
	c.text.WriteString(text)
	c.Args = append(c.Args, args...)
}

// If adds text if asked is set.
func (c *Condition) If(asked bool, text string, args ...any) {
	if asked {
		c.And(text, args...)
	}
}

// Texts adds an equation for each column whose value is not empty.
func (c *Condition) Texts(equations map[string]string) {
	for column, value := range equations {
		c.If(value != "", column+" = ?", []byte(value))
	}
}

// In adds that column is one of values. If values is empty, no row is selected.
func (c *Condition) In(column string, values []any) {
	if len(values) == 0 {
		c.And("1 = 0")
		return
	}
	c.And(column+" IN ("+sqldialect.Places(len(values))+")", values...)
}

// String is the text of the condition.
func (c *Condition) String() string {
	if c.text.Len() == 0 {
		return "1 = 1"
	}
	return c.text.String()
}
