package dashtest_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
)

// The changes that an operator may make, and those that only an admin may.
var (
	operators = []string{
		"dead:redrive", "groups:pause", "groups:resume", "inboxes/parked:redrive", "inboxes/parked:skip", "parked:redrive", "parked:skip",
	}
	admins = []string{
		"dead:drop", "delayed:cancel", "groups:remove", "groups:set-max-lag", "inboxes/parked:drop", "parked:drop",
	}
)

// seen is what the pages offer to a visitor.
type seen struct {
	Status   map[string]int // of pages and downloads
	Offered  []string       // changes
	Payloads int            // that are shown
	Counts   bool           // figures are shown
}

// look is a script that reads pages, and collects what they offer.
const look = `(async (pages, downloads) => {
	const seen = {Status: {}, Offered: [], Payloads: 0, Counts: false};
	for (const page of [...pages, ...downloads]) {
		const answer = await fetch(page);
		seen.Status[page] = answer.status;
		if (downloads.includes(page)) { await answer.arrayBuffer(); continue; }
		const read = new DOMParser().parseFromString(await answer.text(), 'text/html');
		for (const form of read.querySelectorAll('form[method=post], button[formaction]')) {
			const [, action] = (form.getAttribute('formaction') ?? form.getAttribute('action') ?? '').split('/change/');
			if (action) seen.Offered.push(action);
		}
		seen.Payloads += read.querySelectorAll('#payload, a[download]').length;
		seen.Counts ||= read.querySelector('#count-parked .number').textContent !== '0';
	}
	seen.Offered = [...new Set(seen.Offered)].sort();
	return seen;
})(%s, %s)`

// press is a script that sends the form of each change, with every confirmation that is possible without a
// token.
const press = `(async (actions) => {
	const status = {};
	for (const action of actions) {
		const body = new URLSearchParams({group: 'default', topics: '*', reason: 'x', confirmed: 'true'});
		status[action] = (await fetch('change/' + action, {method: 'POST', body})).status;
	}
	return status;
})(%s)`

// Each role sees what it may see and is offered what it may do. Everything else is refused, even when it
// is requested without a button.
func TestEveryRole(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	looks := []string{"groups?group=mail", "parked", "dead?group=mail", "delayed", "inboxes", "messages/1", "inboxes/parked/1", "audit"}
	downloads := []string{"api/v1/messages/1/payload", "api/v1/inboxes/parked/1/payload"}
	for _, c := range []struct {
		roles    []dashboard.Role
		changes  []string
		payloads bool
	}{
		{[]dashboard.Role{dashboard.RoleViewer}, []string{}, false},
		{[]dashboard.Role{dashboard.RolePayload}, []string{}, true},
		{[]dashboard.Role{dashboard.RoleOperator}, operators, false},
		{[]dashboard.Role{dashboard.RoleAdmin}, slices.Sorted(slices.Values(slices.Concat(operators, admins))), false},
	} {
		s.is(c.roles...)
		b.open(s.url)
		var all seen
		require.NoError(t, json.Unmarshal([]byte(await[string](b, "("+fmt.Sprintf(look, quoted(looks), quoted(downloads))+").then(JSON.stringify)")), &all))
		require.Equal(t, c.changes, all.Offered, c.roles)
		require.True(t, all.Counts, c.roles)
		require.Equal(t, c.payloads, all.Payloads > 0, c.roles)
		refused := 0
		for target, status := range all.Status {
			want := http.StatusOK
			if slices.Contains(downloads, target) && !c.payloads {
				want = http.StatusForbidden
				refused++
			}
			require.Equal(t, want, status, "%s as %s", target, c.roles)
		}
		before := s.state()
		never := slices.DeleteFunc(s.actions(), func(action string) bool { return slices.Contains(c.changes, action) })
		for action, status := range await[map[string]int](b, fmt.Sprintf(press, quoted(never))) {
			require.Equal(t, http.StatusForbidden, status, "%s as %s", action, c.roles)
			refused++
		}
		require.Equal(t, before, s.state(), c.roles)
		if refused > 0 {
			b.hears("status of 403")
		}
	}

	// Who has no role is shown nothing, not even a figure, and nothing is streamed.
	s.is()
	b.do(chromedp.Navigate(s.url+"parked"), chromedp.WaitVisible(".problem"))
	b.hears("status of 403")
	require.NotContains(t, b.text(), "order-1")
	require.True(t, eval[bool](b, "document.getElementById('count-parked') === null"))
	require.Zero(t, s.watched())
}

// state returns a digest of everything that changes could change.
func (s *shop) state() string {
	s.t.Helper()
	held, err := s.ob.Admin().Held(s.t.Context(), admin.HeldQuery{})
	require.NoError(s.t, err)
	dead, err := s.ob.Admin().Dead(s.t.Context(), admin.HeldQuery{Group: "mail"})
	require.NoError(s.t, err)
	delayed, err := s.ob.Admin().Delayed(s.t.Context(), admin.DelayedQuery{})
	require.NoError(s.t, err)
	groups, err := s.ob.Admin().Groups(s.t.Context())
	require.NoError(s.t, err)
	parked, err := s.in.Parked(s.t.Context(), inboxadmin.ParkedQuery{OmitPayload: true})
	require.NoError(s.t, err)
	audit, err := s.ob.Admin().Audit(s.t.Context(), admin.AuditQuery{})
	require.NoError(s.t, err)
	for i := range parked {
		parked[i].Message = nil // a pointer
	}
	text, err := json.Marshal([]any{held, dead, delayed, groups, parked, audit})
	require.NoError(s.t, err)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func quoted(texts []string) string {
	text, _ := json.Marshal(texts)
	return string(text)
}
