package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
)

// changes are one of each kind, and how many records it changes; -1 for those that count none.
var changes = map[string]struct {
	body   object
	counts int
	audit  string
}{
	"parked:redrive":         {object{"selection": object{"topics": "orders", "kind": "permanent"}}, 2, "redrive"},
	"parked:skip":            {object{"selection": object{"topic": "orders", "key": "order-1"}}, 1, "skip_head"},
	"parked:drop":            {object{"selection": object{"topic": "orders", "key": "order-1"}}, 2, "drop"},
	"dead:redrive":           {object{"group": "mail", "selection": object{"id": "m-1"}}, 1, "redrive"},
	"dead:drop":              {object{"group": "mail", "selection": object{"topics": "orders"}}, 3, "drop"},
	"delayed:cancel":         {object{"selection": object{"id": "m-9"}}, 1, "cancel"},
	"groups:pause":           {object{"group": "default", "topics": []string{"orders"}}, -1, "pause"},
	"groups:resume":          {object{"group": "default"}, -1, "resume"},
	"groups:set-max-lag":     {object{"group": "default", "max_lag_seconds": 3600}, -1, "set_max_lag"},
	"groups:remove":          {object{"group": "default"}, 4, "remove_group"},
	"inboxes/parked:redrive": {object{"consumer": "loyalty", "selection": object{"id": "m-1"}}, 1, "redrive"},
	"inboxes/parked:skip":    {object{"consumer": "loyalty", "selection": object{"key": "key-m-1"}}, 1, "skip_head"},
	"inboxes/parked:drop":    {object{"consumer": "loyalty", "selection": object{"fingerprint": "customer is unknown"}}, 2, "drop"},
}

// Each change needs a reason and the token of its preview, and the audit names who asked.
func TestEveryChange(t *testing.T) {
	t.Parallel()
	for action, c := range changes {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			if c.counts < 0 {
				code, answer := s.post(action, c.body)
				require.Equal(t, http.StatusBadRequest, code, "without a reason: %v", answer)
				code, answer = s.post(action, with(c.body, object{"reason": "INC-42"}))
				require.Equal(t, http.StatusOK, code, answer)
			} else {
				code, preview := s.post(action, with(c.body, object{"dry_run": true}))
				require.Equal(t, http.StatusOK, code, preview)
				require.EqualValues(t, c.counts, preview["count"], preview)
				code, answer := s.post(action, with(c.body, object{"reason": "INC-42"}))
				require.Equal(t, http.StatusPreconditionRequired, code, answer)
				code, answer = s.post(action, with(c.body, object{"token": preview["token"]}))
				require.Equal(t, http.StatusBadRequest, code, "without a reason: %v", answer)
				code, answer = s.post(action, with(c.body, object{"reason": "INC-42", "token": preview["token"]}))
				require.Equal(t, http.StatusOK, code, answer)
				require.EqualValues(t, c.counts, answer["count"])
			}
			entry := s.audited(action)
			require.Contains(t, entry.Action, c.audit)
			require.Equal(t, "ann", entry.Actor)
			require.Equal(t, "INC-42", entry.Reason)
			require.Contains(t, string(entry.Details), `"address":"192.0.2.7:4711"`)
			require.Contains(t, string(entry.Details), `"mode":"test"`)
		})
	}
	routes := 0
	for _, r := range newShop(t).d.Routes() {
		if r.Role == dashboard.RoleAdmin || r.Role == dashboard.RoleOperator {
			routes++
		}
	}
	require.Equal(t, 2*len(changes), routes, "each change has a case here, by the API and by a form")
}

// What is known of who asks is bounded in the audit, and never inside a character.
func TestLongModeIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(cfg *dashboard.Config) {
		cfg.Authorize = func(*http.Request) (dashboard.Identity, error) {
			return dashboard.Identity{Actor: "ann", Roles: dashboard.Roles(), Mode: strings.Repeat("x", 499) + "é"}, nil
		}
	})
	code, answer := s.post("groups:pause", object{"group": "default", "reason": "INC-42"})
	require.Equal(t, http.StatusOK, code, answer)
	require.Contains(t, string(s.audited("groups:pause").Details), `"mode":"`+strings.Repeat("x", 499)+`"`)
}

// A field that would be shown and not heeded is refused.
func TestFieldsThatAreNotHeeded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for action, foreign := range map[string][]object{
		"parked:skip":         {{"selection": object{"id": "m-1"}}, {"consumer": "loyalty"}, {"topics": []string{"orders"}}},
		"parked:drop":         {{"inbox": "shop"}, {"max_lag_seconds": 1}},
		"delayed:cancel":      {{"selection": object{"key": "order-1"}}, {"group": "default"}},
		"groups:pause":        {{"selection": object{"topics": "orders"}}},
		"groups:set-max-lag":  {{"topics": []string{"orders"}}},
		"groups:remove":       {{"topics": []string{"orders"}}},
		"inboxes/parked:drop": {{"selection": object{"kind": "permanent"}}, {"group": "default"}, {"outbox": "shop"}},
		"inboxes/parked:skip": {{"selection": object{"before": "2006-01-02T15:04:05Z"}}},
	} {
		for _, field := range foreign {
			body := with(changes[action].body, object{"dry_run": true})
			for name, value := range field {
				if values, ok := value.(object); ok {
					before, _ := body[name].(object)
					value = with(before, values)
				}
				body[name] = value
			}
			code, answer := s.post(action, body)
			require.Equal(t, http.StatusBadRequest, code, "%s %v: %v", action, field, answer)
			require.Contains(t, answer["detail"], "is not a field of "+action)
		}
	}
}

// A kind that no failure has is refused, by name and value: it would select nothing.
func TestKindThatThereIsNot(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, action := range []string{"parked:redrive", "parked:drop", "dead:redrive", "dead:drop"} {
		code, answer := s.post(action, with(changes[action].body, object{"selection": object{"topics": "orders", "kind": "typo"}, "dry_run": true}))
		require.Equal(t, http.StatusBadRequest, code, "%s: %v", action, answer)
		require.Contains(t, answer["detail"], `Kind = "typo": must be`)
	}
}

// audited is the newest entry of an operator's.
func (s *shop) audited(action string) admin.AuditEntry {
	s.t.Helper()
	if action[0] == 'i' {
		entries, err := s.in.(inboxadmin.Auditor).Audit(s.t.Context(), inboxadmin.AuditQuery{Newest: true, Limit: 1})
		require.NoError(s.t, err)
		require.Len(s.t, entries, 1)
		e := entries[0]
		return admin.AuditEntry{Action: e.Action, Actor: e.Actor, Reason: e.Reason, Details: e.Details}
	}
	entries, err := s.ob.Admin().Audit(s.t.Context(), admin.AuditQuery{Newest: true, Limit: 1})
	require.NoError(s.t, err)
	require.Len(s.t, entries, 1)
	return entries[0]
}

// What is selected has grown since the preview: nothing is changed, and the page asks again.
func TestAnotherCountIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	body := object{"selection": object{"topics": "orders"}}
	_, preview := s.post("parked:drop", with(body, object{"dry_run": true}))
	page := s.form("parked:drop", url.Values{"topics": {"orders"}})
	token := regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(page.Body.String())
	require.Len(t, token, 2, page.Body)

	s.enqueue(orderOf("m-4", "order-4"))
	s.relayParked()
	before, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	code, answer := s.post("parked:drop", with(body, object{"reason": "INC-42", "token": preview["token"]}))
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, answer["detail"], "it is 3 now")
	page = s.form("parked:drop", url.Values{"topics": {"orders"}, "token": {token[1]}, "reason": {"INC-42"}, "confirmed": {"true"}})
	require.Equal(t, http.StatusConflict, page.Code)
	require.Contains(t, page.Body.String(), `<span id="count">3</span>`)
	after, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	require.Equal(t, before, after)

	token = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(page.Body.String())
	page = s.form("parked:drop", url.Values{"topics": {"orders"}, "token": {token[1]}, "reason": {"INC-42"}, "confirmed": {"true"}})
	require.Equal(t, http.StatusSeeOther, page.Code, page.Body)
	require.Contains(t, s.get(page.Header().Get("Location")).Body.String(), "3 records dropped.")
}

// Each form shows what it would do, and goes back to its page when it has done it.
func TestEveryForm(t *testing.T) {
	t.Parallel()
	for action, c := range changes {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			fields := url.Values{}
			for name, value := range c.body {
				switch value := value.(type) {
				case string:
					fields.Set(name, value)
				case object:
					for name, value := range value {
						text, ok := value.(string)
						require.True(t, ok)
						fields.Set(name, text)
					}
				}
			}
			if action == "groups:set-max-lag" {
				fields.Set("max_lag", "1h")
			}
			page := s.form(action, fields)
			require.Equal(t, http.StatusOK, page.Code, page.Body)
			require.Contains(t, page.Body.String(), "box</dt><dd>shop</dd>", "the store, though the form names none")
			hidden := url.Values{"reason": {"INC-42"}}
			for _, field := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(confirmation(page.Body.String()), -1) {
				hidden.Set(field[1], field[2])
			}
			page = s.form(action, hidden)
			require.Equal(t, http.StatusSeeOther, page.Code, page.Body)
			back := s.get(page.Header().Get("Location"))
			require.Equal(t, http.StatusOK, back.Code, back.Body)
			require.Contains(t, back.Body.String(), `<div class="notice good" role="status">`)
			require.Equal(t, "INC-42", s.audited(action).Reason)
		})
	}
}

// confirmation is the form of a page that confirms a change: each page has others.
func confirmation(page string) string {
	_, form, _ := strings.Cut(page, `class="confirm`)
	return form
}
