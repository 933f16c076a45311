package sqlforward_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox/sqlforward"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestGrantsAreEnough takes over from the forwarder, moves and hands back with the documented grants. The
// control is a privilege on the whole row, which is not granted.
func TestGrantsAreEnough(t *testing.T) {
	t.Parallel()
	onTables(t, grantsAreEnough)
}

func grantsAreEnough(t *testing.T, x *table) {
	t.Helper()
	x.forwarder(t)
	grants := sqltest.DocumentedGrants(t, "from-watermill-forwarder.md", "Grants")
	of := sqltest.DocumentedGrants(t, "databases.md", "Grants").Grants
	grants.Grants["producer"], grants.Grants["viewer"] = of["producer"], of["viewer"]
	grants.Grants["forwarder"] = slices.DeleteFunc(grants.Grants["forwarder"], func(grant string) bool {
		if x.cfg.Queue {
			return strings.Contains(grant, "(created_at)") || strings.Contains(grant, "(offset_acked")
		}
		return strings.Contains(grant, "(acked)")
	})
	own := grants.As(t, x.db, x.config, "forwarder", "producer", "viewer")
	ob, err := sqloutbox.New(own, x.dialect, sqloutbox.Config{})
	require.NoError(t, err)
	f, err := sqlforward.New(own, x.dialect, ob, x.cfg)
	require.NoError(t, err)

	late := x.open(t, "late", "late")
	x.put(t, "k", "a", "b")
	x.move(t, f)
	require.NoError(t, late.Commit())
	x.exec(t, "INSERT INTO watermill_forwarder_topic (uuid, payload, metadata) VALUES ('no envelope', '{}', '{}')")
	x.move(t, f)
	require.Equal(t, []string{"a", "b", "late"}, x.moved(t))
	x.exec(t, "DELETE FROM leat_outbox WHERE shard >= 0") // all is sent
	_, err = f.HandBack(t.Context())
	require.NoError(t, err)
	_, err = own.ExecContext(t.Context(), "UPDATE watermill_forwarder_topic SET payload = '{}'")
	require.ErrorContains(t, err, "denied", "the control")
}
