package pgoutbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// TestO6_SkipHead drops the first of a parked key, and the next one is due.
func TestO6_SkipHead(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3")
	h.hold(driver.FatePark, driver.FateWait, driver.FateWait)
	changed, err := h.ob.SkipHead(t.Context(), admin.SkipHeadRequest{By: people(), Key: keyNamed("a")})
	require.NoError(t, err)
	require.Equal(t, 1, changed.Count)
	require.Equal(t, []string{"2 retry", "3 wait"}, h.held("a"))
	require.Equal(t, []string{"2", "3"}, h.due())
	require.Equal(t, []string{"park a", "skip_head a"}, h.audit())
	_, err = h.ob.SkipHead(t.Context(), admin.SkipHeadRequest{By: people(), Key: keyNamed("a")})
	require.ErrorIs(t, err, admin.ErrBeingRetried)
	_, err = h.ob.SkipHead(t.Context(), admin.SkipHeadRequest{By: people(), Key: keyNamed("b")})
	require.ErrorIs(t, err, admin.ErrNotParked)
	require.ErrorContains(t, err, `key "b" of topic "events" of group "default"`)
}

// drop drops what is selected.
func (h *holding) drop(s admin.Selection) (admin.Changed, error) {
	return h.ob.Drop(h.t.Context(), admin.ChangeRequest{By: people(), Selection: s})
}

// TestO2_Drop: what is dropped is in the audit, and only what nobody can be sending
// is dropped.
func TestO2_Drop(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3")
	put(t, h.ob, "b", "4", "5")
	put(t, h.ob, "c", "6")
	h.hold(driver.FatePark, driver.FateWait, driver.FateWait, driver.FateRetry, driver.FateWait, driver.FateDead)

	for _, key := range []string{"b", "d"} {
		_, err := h.drop(admin.Selection{Topic: topic, Key: key})
		require.Error(t, err)
		require.Equal(t, key == "b", errors.Is(err, admin.ErrBeingRetried), err)
		require.Equal(t, key == "d", errors.Is(err, admin.ErrNotParked), err)
	}
	waiting := query1[string](t, h.db, "SELECT id::text FROM leat.outbox WHERE seq = 5")
	_, err := h.drop(admin.Selection{ID: waiting})
	require.ErrorIs(t, err, admin.ErrBeingRetried, "it may be on its way behind the first")

	changed, err := h.drop(admin.Selection{Topic: topic, Key: "a", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, 2, changed.Count)
	require.Equal(t, []string{"1 parked"}, h.held("a"), "from the end: nothing goes out in between")
	_, err = h.drop(admin.Selection{Topic: topic, Key: "a"})
	require.NoError(t, err)
	require.Empty(t, h.held("a"))

	changed, err = h.drop(admin.Selection{Topics: "ev*", Dead: true})
	require.NoError(t, err)
	require.Equal(t, 1, changed.Count)
	require.Zero(t, query1[int](t, h.db, "SELECT count(*) FROM leat.outbox_dead"))
	require.Equal(t, []string{"park a", "dead c", "drop a", "drop a", "drop a", "drop c"}, h.audit())
	require.Equal(t, 4, query1[int](t, h.db, `SELECT count(*) FROM leat.outbox_audit a JOIN leat.outbox o ON o.seq = a.seq AND o.id::text = a.id
		WHERE action = 'drop' AND details ? 'errors'`))
}

// TestO6_DropByID drops one record out of a parked key.
func TestO6_DropByID(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3")
	h.hold(driver.FatePark, driver.FateWait, driver.FateWait)
	parked, err := h.ob.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked, Topic: "e*s", Key: "a", After: 1, Limit: 1})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, "2", string(parked[0].Payload))
	_, err = h.drop(admin.Selection{ID: parked[0].ID})
	require.NoError(t, err)
	require.Equal(t, []string{"1 parked", "3 wait"}, h.held("a"))
	_, err = h.drop(admin.Selection{ID: parked[0].ID})
	require.ErrorIs(t, err, admin.ErrNotParked)
}

// TestO6_FollowerOfADroppedKey is due at once: the relay did not know yet.
func TestO6_FollowerOfADroppedKey(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	h.hold(driver.FatePark)
	_, err := h.drop(admin.Selection{Topic: topic, Key: "a"})
	require.NoError(t, err)
	put(t, h.ob, "a", "2", "3")
	h.hold(driver.FateWait, driver.FateWait)
	require.Equal(t, []string{"2 retry", "3 wait"}, h.held("a"))
	require.Equal(t, []string{"2", "3"}, h.due())
	require.Equal(t, []driver.Key{keyNamed("a")}, h.resolve(driver.FateDelivered, driver.FateDelivered))
}

// TestO6_RedriveByFilter redrives keys and records without one, by topic, kind and
// time.
func TestO6_RedriveByFilter(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	put(t, h.ob, "", "3")
	h.hold(driver.FatePark, driver.FateWait, driver.FatePark)
	soon := time.Now().Add(time.Hour)
	for _, none := range []admin.Selection{
		{Topics: "event"},
		{Topics: "*", Kind: "unknown"},
		{Kind: "permanent", Before: soon.Add(-2 * time.Hour)},
		{Topics: "*", Dead: true},
	} {
		changed, err := h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: none})
		require.NoError(t, err)
		require.Zero(t, changed)
	}
	changed, err := h.ob.Redrive(t.Context(), admin.ChangeRequest{
		By: people(), Selection: admin.Selection{Topics: "*", Kind: "permanent", Before: soon},
	})
	require.NoError(t, err)
	require.Equal(t, 2, changed.Count)
	require.Equal(t, []string{"1", "2", "3"}, h.due())
}

// TestO6_RedriveByIDOfAFollower redrives the key: the order stays.
func TestO6_RedriveByIDOfAFollower(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	h.hold(driver.FatePark, driver.FateWait)
	id := query1[string](t, h.db, "SELECT id::text FROM leat.outbox WHERE seq = 2")
	changed, err := h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{ID: id}})
	require.NoError(t, err)
	require.Equal(t, 1, changed.Count)
	require.NotEqual(t, id, changed.IDs[0])
	require.Equal(t, []string{"1 retry", "2 wait"}, h.held("a"))
	_, err = h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{ID: id}})
	require.ErrorIs(t, err, admin.ErrBeingRetried)
}

// TestO6_RedriveTheDead: a dead record joins the line of its key, where there is
// one, at its place; what was parked stays so.
func TestO6_RedriveTheDead(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2", "3", "4")
	put(t, h.ob, "b", "5", "6", "7", "8")
	h.hold(driver.FateDead, driver.FateRetry, driver.FateDead, driver.FateWait,
		driver.FateDead, driver.FatePark, driver.FateDead, driver.FateWait)
	changed, err := h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{Topics: topic, Dead: true}})
	require.NoError(t, err)
	require.Equal(t, 4, changed.Count)
	require.Equal(t, []string{"1 retry", "2 wait", "3 wait", "4 wait"}, h.held("a"))
	require.Equal(t, []string{"5 retry", "6 parked", "7 wait", "8 wait"}, h.held("b"))
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, h.due())
	parked, err := h.ob.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Len(t, parked, 3)
	require.Equal(t, 3, query1[int](t, h.db, "SELECT count(*) FROM leat.outbox_parked"))
}

// TestO6_RedrivenDeadWhileTheFirstIsOnItsWay: the relay was sending a record when an
// earlier one of its key came back; when it fails, it waits for that one.
func TestO6_RedrivenDeadWhileTheFirstIsOnItsWay(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	h.hold(driver.FateDead, driver.FateRetry)
	held, err := h.Due(t.Context(), 10, nil)
	require.NoError(t, err)
	_, err = h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{Topic: topic, Key: "a", Dead: true}})
	require.NoError(t, err)
	_, err = h.Resolve(t.Context(), verdicts(held, driver.FateRetry))
	require.NoError(t, err)
	require.Equal(t, []string{"1 retry", "2 wait"}, h.held("a"))
}

// TestAdmin_Refusals: a request that says not who, why or what changes nothing.
func TestAdmin_Refusals(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	h.hold(driver.FatePark)
	key := admin.Selection{Topic: topic, Key: "a"}
	for name, req := range map[string]admin.ChangeRequest{
		"Actor":   {By: admin.By{Reason: "r"}, Selection: key},
		"Reason":  {By: admin.By{Actor: "a", Reason: " "}, Selection: key},
		"select":  {By: people()},
		"by ID":   {By: people(), Selection: admin.Selection{Topic: topic, Key: "a", ID: "1"}},
		"both":    {By: people(), Selection: admin.Selection{Topic: topic}},
		"Limit":   {By: people(), Selection: admin.Selection{Topics: "*", Limit: -1}},
		"NUL":     {By: people(), Selection: admin.Selection{Topics: "\x00"}},
		"a\\x00b": {By: people(), Selection: key, Group: "a\x00b"},
	} {
		_, err := h.ob.Redrive(t.Context(), req)
		require.ErrorIs(t, err, admin.ErrInvalidRequest, name)
		require.ErrorContains(t, err, name)
		_, err = h.ob.Drop(t.Context(), req)
		require.ErrorIs(t, err, admin.ErrInvalidRequest, name)
	}
	_, err := h.ob.SkipHead(t.Context(), admin.SkipHeadRequest{Key: keyNamed("a")})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
	_, err = h.ob.Held(t.Context(), admin.HeldQuery{State: admin.HeldParked, Limit: 20_000})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
	require.Equal(t, []string{"1 parked"}, h.held("a"))
	require.Equal(t, []string{"park a"}, h.audit())
}

// TestAdmin_Audit pages through the audit, and narrows it.
func TestAdmin_Audit(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1")
	put(t, h.ob, "b", "2")
	h.hold(driver.FatePark, driver.FatePark)
	h.redrive("a")
	first, err := h.ob.Audit(t.Context(), admin.AuditQuery{Limit: 2})
	require.NoError(t, err)
	require.Len(t, first, 2)
	rest, err := h.ob.Audit(t.Context(), admin.AuditQuery{After: first[1].No, Group: "default", Topic: topic, Key: "a", Action: "redrive", ID: first[0].ID})
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, []string{people().Actor, people().Reason}, []string{rest[0].Actor, rest[0].Reason})
	require.JSONEq(t, `{"from": "parked"}`, string(rest[0].Details))
	later, err := h.ob.Audit(t.Context(), admin.AuditQuery{Since: rest[0].At.Add(time.Hour)})
	require.NoError(t, err)
	require.Empty(t, later)
	require.Equal(t, h.owner(), first[0].Actor, "of what a relay did")
}

func (h *holding) owner() string {
	h.t.Helper()
	return query1[string](h.t, h.db, "SELECT owner FROM leat.outbox_leases")
}

// TestAdmin_GroupsAreApart: what one group has set aside is no other group's concern.
func TestAdmin_GroupsAreApart(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	other := holdingOf(t, h.ob, h.db, "other")
	put(t, h.ob, "a", "1")
	h.hold(driver.FatePark)
	other.hold(driver.FateRetry)
	_, err := h.ob.Redrive(t.Context(), admin.ChangeRequest{By: people(), Group: "other", Selection: admin.Selection{Topic: topic, Key: "a"}})
	require.ErrorIs(t, err, admin.ErrBeingRetried)
	require.Equal(t, []string{"1"}, other.due())
	require.Empty(t, h.due())
	require.Equal(t, []driver.Key{keyNamed("a")}, other.resolve(driver.FateDelivered))
	require.Equal(t, []string{"1 parked"}, h.held("a"))
}
