package pgoutbox_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
)

// sized is a session that reads pages of one size.
type sized struct {
	driver.Session

	limit int
}

func byteReader(s string) io.Reader { return strings.NewReader(s) }

// dropRole removes a role. A role belongs to the cluster and is not removed with the test's database.
func dropRole(t *testing.T, db *testenv.Database, role string) {
	t.Helper()
	_, err := db.Pool.Exec(context.Background(), `DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`)
	assert.NoError(t, err)
}
