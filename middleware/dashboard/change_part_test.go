package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
)

// dropper is an outbox whose Drop is drop.
type dropper struct {
	admin.Outbox

	drop func(req admin.ChangeRequest) (admin.Changed, error)
}

func (d dropper) Drop(_ context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return d.drop(req)
}

// dropping is a shop whose outbox drops by drop.
func dropping(t *testing.T, drop func(req admin.ChangeRequest) (admin.Changed, error)) *shop {
	t.Helper()
	return newShop(t, func(c *dashboard.Config) {
		c.Outboxes = map[string]admin.Outbox{"shop": dropper{c.Outboxes["shop"], drop}}
	})
}

// A change that fails after its first transaction says how many it has changed.
func TestChangeInPart(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]int{
		context.DeadlineExceeded: http.StatusGatewayTimeout, errors.New("db-7 is unavailable"): http.StatusInternalServerError, admin.ErrNotParked: http.StatusNotFound,
	} {
		turn := 0
		s := dropping(t, func(req admin.ChangeRequest) (admin.Changed, error) {
			if req.DryRun {
				return admin.Changed{Count: 25_000}, nil
			}
			if turn++; turn == 2 {
				return admin.Changed{}, fmt.Errorf("drop: %w", cause)
			}
			return admin.Changed{Count: req.Limit}, nil
		})
		body := object{"selection": object{"topics": "orders"}}
		_, preview := s.post("parked:drop", with(body, object{"dry_run": true}))
		got, answer := s.post("parked:drop", with(body, object{"reason": "INC-42", "token": preview["token"]}))
		require.Equal(t, code, got)
		require.EqualValues(t, 10_000, answer["changed"])
		require.Contains(t, answer["detail"], "10000 were changed")
		require.NotContains(t, answer["detail"], "db-7", "what a store says is not shown")
	}
}

// No more is asked of a key than its preview has counted, and what came in between is told.
func TestChangeTellsOthers(t *testing.T) {
	t.Parallel()
	s := dropping(t, func(req admin.ChangeRequest) (admin.Changed, error) {
		if req.DryRun {
			return admin.Changed{Count: 2, IDs: []string{"m-1", "m-2"}}, nil
		}
		if req.Limit != 2 {
			return admin.Changed{}, fmt.Errorf("%w: Limit = %d", admin.ErrInvalidRequest, req.Limit)
		}
		return admin.Changed{Count: 2, IDs: []string{"m-2", "m-7"}}, nil
	})
	body := object{"outbox": "shop", "selection": object{"topic": "orders", "key": "order-1"}}
	_, preview := s.post("parked:drop", with(body, object{"dry_run": true}))
	require.NotContains(t, preview, "others")
	code, answer := s.post("parked:drop", with(body, object{"reason": "INC-42", "token": preview["token"]}))
	require.Equal(t, http.StatusOK, code, answer)
	require.EqualValues(t, 1, answer["others"])
	token, ok := preview["token"].(string)
	require.True(t, ok)
	page := s.form("parked:drop", url.Values{
		"topic": {"orders"}, "key": {"order-1"}, "token": {token}, "reason": {"INC-42"}, "confirmed": {"true"},
	})
	require.Equal(t, http.StatusSeeOther, page.Code, page.Body)
	require.Contains(t, s.get(page.Header().Get("Location")).Body.String(), "Of these 1 came after the preview")
}
