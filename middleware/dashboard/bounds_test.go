package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// hoard is an outbox and an inbox with as many rows as anybody asks for, each as large as text.
type hoard struct {
	outboxadmin.Manager

	text string
	rows int64

	mu sync.Mutex
	// most is how many rows were asked for at a time.
	most int
}

// rowsOf returns n rows after a number.
func rowsOf[T any](h *hoard, after int64, n int, row func(no int64) T) (rows []T, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most = max(h.most, n)
	for no := after + 1; no <= h.rows && len(rows) < n; no++ {
		rows = append(rows, row(no))
	}
	return rows, nil
}

// everyRow returns all rows, for what has no pages.
func everyRow[T any](h *hoard, row func(no int64) T) (rows []T) {
	for no := range h.rows {
		rows = append(rows, row(no))
	}
	return rows
}

func (h *hoard) details() json.RawMessage {
	return json.RawMessage(`{"errors":"` + strings.ReplaceAll(strings.ReplaceAll(h.text, `"`, `'`), "\x01", "x") + `"}`)
}

func (h *hoard) history() driver.History {
	return driver.History{Attempts: 1, Errors: []driver.AttemptError{{Error: h.text}}}
}

func (h *hoard) record(no int64) outbox.Record {
	return outbox.Record{Seq: no, Message: outbox.Message{ID: strconv.FormatInt(no, 10), Topic: "t", Key: h.text, Type: h.text}}
}

func (h *hoard) held(q outboxadmin.HeldQuery) ([]outboxadmin.HeldRecord, error) {
	return rowsOf(h, q.After, q.Limit, func(no int64) outboxadmin.HeldRecord {
		return outboxadmin.HeldRecord{Record: h.record(no), Group: "default", Reason: h.text, Errors: []outboxadmin.Failure{{Error: h.text}}}
	})
}

func (h *hoard) Held(_ context.Context, q outboxadmin.HeldQuery) ([]outboxadmin.HeldRecord, error) {
	return h.held(q)
}

func (h *hoard) Dead(_ context.Context, q outboxadmin.HeldQuery) ([]outboxadmin.HeldRecord, error) {
	return h.held(q)
}

func (h *hoard) ParkedKeys(_ context.Context, q outboxadmin.KeysQuery) ([]outboxadmin.ParkedKey, error) {
	return rowsOf(h, q.After, q.Limit, func(no int64) outboxadmin.ParkedKey {
		return outboxadmin.ParkedKey{Seq: no, ID: h.text, Reason: h.text, LastError: h.text}
	})
}

func (h *hoard) Failures(context.Context, outboxadmin.FailuresQuery) ([]outboxadmin.FailureGroup, error) {
	return everyRow(h, func(int64) outboxadmin.FailureGroup {
		return outboxadmin.FailureGroup{Topic: h.text, Fingerprint: h.text, Example: h.text}
	}), nil
}

func (h *hoard) Audit(_ context.Context, q outboxadmin.AuditQuery) ([]outboxadmin.AuditEntry, error) {
	return rowsOf(h, q.After, q.Limit, func(no int64) outboxadmin.AuditEntry {
		return outboxadmin.AuditEntry{No: no, Action: "drop", Actor: "ann", Reason: "INC-42", Details: h.details()}
	})
}

func (h *hoard) Search(_ context.Context, q outboxadmin.MessageQuery) (page outboxadmin.MessagePage, err error) {
	page.Records, err = rowsOf(h, q.After, q.Limit, h.record)
	return page, err
}

func (h *hoard) Trace(context.Context, outboxadmin.TraceQuery) (t outboxadmin.Trace, err error) {
	for no := range int64(1000) {
		held := outboxadmin.HeldRecord{Record: h.record(no), Group: "default", Reason: h.text}
		t.Held, t.Dead = append(t.Held, held), append(t.Dead, held)
		t.Messages = append(t.Messages, outboxadmin.TracedMessage{Record: h.record(no)})
		t.Delayed = append(t.Delayed, outboxadmin.DelayedMessage{Message: h.record(no).Message})
		t.Audit = append(t.Audit, outboxadmin.AuditEntry{No: no, At: time.Now(), Reason: h.text})
	}
	return t, nil
}

func (h *hoard) Ranges(context.Context) ([]outboxadmin.Range, error) {
	return everyRow(h, func(no int64) outboxadmin.Range {
		return outboxadmin.Range{Table: fmt.Sprint("r", no), PinnedBy: []string{h.text}}
	}), nil
}

func (h *hoard) Delayed(_ context.Context, q outboxadmin.DelayedQuery) ([]outboxadmin.DelayedMessage, error) {
	after := int64(0)
	if q.After != nil {
		after = q.After.No
	}
	return rowsOf(h, after, q.Limit, func(no int64) outboxadmin.DelayedMessage {
		return outboxadmin.DelayedMessage{No: no, Message: h.record(no).Message}
	})
}

// hoardInbox is the inbox of a hoard.
type hoardInbox struct {
	admin.Inbox

	h *hoard
}

func (in hoardInbox) Consumers(_ context.Context, q admin.ConsumersQuery) ([]admin.Consumer, error) {
	after, _ := strconv.ParseInt(strings.TrimPrefix(q.After, "c"), 10, 64)
	return rowsOf(in.h, after, q.Limit, func(no int64) admin.Consumer { return admin.Consumer{Name: fmt.Sprint("c", no)} })
}

func (in hoardInbox) Failures(context.Context, admin.FailuresQuery) ([]admin.FailureGroup, error) {
	return everyRow(in.h, func(int64) admin.FailureGroup {
		return admin.FailureGroup{Consumer: "c", Topic: in.h.text, Fingerprint: in.h.text, Example: in.h.text}
	}), nil
}

func (in hoardInbox) Parked(_ context.Context, q admin.ParkedQuery) ([]admin.ParkedMessage, error) {
	return rowsOf(in.h, q.After, q.Limit, func(no int64) admin.ParkedMessage {
		return admin.ParkedMessage{No: no, ID: in.h.text, Key: in.h.text, Reason: in.h.text, History: in.h.history()}
	})
}

func (in hoardInbox) Attempts(_ context.Context, q admin.AttemptsQuery) ([]admin.Attempts, error) {
	after, _ := strconv.ParseInt(q.After, 10, 64)
	return rowsOf(in.h, after, q.Limit, func(no int64) admin.Attempts {
		return admin.Attempts{ID: strconv.FormatInt(no, 10), History: in.h.history()}
	})
}

func (in hoardInbox) Audit(_ context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	return rowsOf(in.h, q.After, q.Limit, func(no int64) admin.AuditEntry {
		return admin.AuditEntry{No: no, Action: "drop", Actor: "ann", Details: in.h.details()}
	})
}

func (in hoardInbox) Partitions(context.Context, admin.PartitionsQuery) ([]admin.PartitionState, error) {
	return everyRow(in.h, func(int64) admin.PartitionState {
		return admin.PartitionState{TopicPartition: admin.TopicPartition{Topic: in.h.text}}
	}), nil
}

func (in hoardInbox) SetWatermark(context.Context, admin.SetWatermarkRequest) (int64, error) {
	return 0, nil
}

func (in hoardInbox) RemoveWatermark(context.Context, admin.RemoveWatermarkRequest) (int64, error) {
	return 0, nil
}

func (in hoardInbox) AcceptSource(context.Context, admin.AcceptSourceRequest) (string, error) {
	return "", nil
}

// newHoard returns a dashboard of a hoard.
func newHoard(t *testing.T, text string, rows int64) (*shop, *hoard) {
	t.Helper()
	h := &hoard{text: text, rows: rows}
	s := newShop(t, func(c *dashboard.Config) {
		h.Manager = c.Outboxes["shop"].(outboxadmin.Manager)
		c.Outboxes = map[string]outboxadmin.Outbox{"shop": h}
		c.Inboxes = map[string]admin.Inbox{"shop": hoardInbox{c.Inboxes["shop"], h}}
	})
	return s, h
}

// Whatever the stores hold and a request asks for, each answer is bounded in bytes, and so is
// what a store is asked for at a time.
func TestS14_EveryAnswerIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		rows int64
	}{
		"small": {"x", 20_000}, "20 KB": {strings.Repeat("x", 20_000), 1000}, "quotes": {strings.Repeat(`"<&`, 7000), 1000}, "large": {strings.Repeat("\x01", 200_000), 150},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, h := newHoard(t, c.text, c.rows)
			for _, r := range s.d.Routes() {
				method, pattern, _ := strings.Cut(r.Pattern, " ")
				if method != http.MethodGet || strings.HasSuffix(pattern, "/stream") || strings.HasSuffix(pattern, "}") || strings.HasSuffix(pattern, "/payload") {
					continue
				}
				target := fill(pattern)
				if strings.HasSuffix(pattern, "/trace") {
					target += "?id=x&since=2006-01-02"
				}
				separator := "?"
				if strings.Contains(target, "?") {
					separator = "&"
				}
				if most := s.get(target + separator + "limit=10000"); most.Code == http.StatusOK {
					checkBounded(t, pattern+" with a limit", most)
				}
				checkBounded(t, pattern, s.get(target))
			}
			require.LessOrEqual(t, h.most, 1000)
		})
	}
}

func checkBounded(t *testing.T, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, what)
	require.LessOrEqual(t, w.Body.Len(), 32<<20, what)
}

// A list that is cut goes on where it was cut: nothing is missing, and nothing is there twice.
func TestS14_CutListsGoOn(t *testing.T) {
	t.Parallel()
	s, h := newHoard(t, strings.Repeat("x", 20_000), 700)
	for _, target := range []string{
		"parked?", "parked/keys?", "dead?", "audit?", "audit?inbox=shop", "messages?", "delayed?", "inboxes/parked?", "inboxes/attempts?consumer=loyalty",
	} {
		limit := "10000"
		if target == "delayed?" {
			limit = "100"
		}
		seen, after, pages := int64(0), "", 0
		for pages == 0 || after != "" {
			var page struct {
				Items []struct{ Seq, No int64 }
				Next  string
			}
			w := s.get("/api/v1/" + target + "&limit=" + limit + "&after=" + after)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
			for _, item := range page.Items {
				if seen++; target != "inboxes/attempts?consumer=loyalty" {
					require.Equal(t, seen, max(item.Seq, item.No), target)
				}
			}
			after = page.Next
			pages++
		}
		require.Equal(t, h.rows, seen, target)
		require.Greater(t, pages, 1, target)
	}
	require.LessOrEqual(t, h.most, 1000)
	w := s.get("/api/v1/audit.csv")
	require.Regexp(t, `^<\?after=\d+>; rel="next"$`, w.Header().Get("Link"))
}

// Many requests of one role wait for each other and are refused in the end, and another role's
// are answered meanwhile.
func TestS14_EveryRoleIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newShop(t, func(c *dashboard.Config) {
			c.Outboxes = map[string]outboxadmin.Outbox{"shop": slow{c.Outboxes["shop"], release}}
			c.Authorize = func(r *http.Request) (dashboard.Identity, error) {
				return dashboard.Identity{Actor: "ann", Roles: []dashboard.Role{dashboard.Role(r.Header.Get("Role"))}}, nil
			}
		})
		ask := func(target string, role dashboard.Role) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+target, nil)
			r.Header.Set("Role", string(role))
			w := httptest.NewRecorder()
			s.d.ServeHTTP(w, r)
			return w
		}
		for _, c := range []struct {
			target                 string
			refused, answeredLater int
		}{{"/api/v1/audit", 128, 72}, {"/api/v1/stream", 150, 50}} {
			codes := make(chan int, 200)
			for range 200 {
				go func() { codes <- ask(c.target, dashboard.RoleViewer).Code }()
			}
			synctest.Wait()
			require.Len(t, codes, c.refused, c.target)
			for range c.refused {
				require.Equal(t, http.StatusServiceUnavailable, <-codes)
			}
			w := ask(c.target, dashboard.RoleViewer)
			require.Equal(t, http.StatusServiceUnavailable, w.Code)
			require.Equal(t, "5", w.Header().Get("Retry-After"))
			for _, role := range dashboard.Roles()[1:] {
				require.Equal(t, http.StatusOK, ask("/api/v1/me", role).Code, role)
			}
			if c.target == "/api/v1/audit" {
				close(release)
			}
			for range c.answeredLater {
				require.Equal(t, http.StatusOK, <-codes)
			}
		}
	})
}

// slow is an outbox whose audit waits.
type slow struct {
	outboxadmin.Outbox

	release chan struct{}
}

func (o slow) Audit(ctx context.Context, q outboxadmin.AuditQuery) ([]outboxadmin.AuditEntry, error) {
	<-o.release
	return o.Outbox.Audit(ctx, q)
}

// Redaction costs what its input costs, whatever its paths and however deep a payload is.
//
//nolint:paralleltest // it looks at what the process allocates
func TestS14_RedactionIsLinear(t *testing.T) {
	for _, path := range []string{"**.b", "**.a.**.b", "**.a.**.a.**.b", "**.**.**.b", "**.*.**.*.b", "a.a.a.b"} {
		r := dashboard.Redaction{Paths: []string{path}}
		for _, body := range []string{
			strings.Repeat(`{"a":`, 9000) + `1` + strings.Repeat(`}`, 9000), strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000),
			`[` + strings.Repeat(`{"a":{"b":1}},`, 4000) + `1]`,
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := r.JSON([]byte(body))
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "%s in %d bytes: %.20s", path, len(body), body)
		}
	}
}

// A name in a rule means the same name in any case.
func TestS15_RedactionIgnoresCase(t *testing.T) {
	t.Parallel()
	r := dashboard.Redaction{Paths: []string{"**.password", "customer.Email"}}
	for _, body := range []string{
		`{"password":"s3cret"}`, `{"Password":"s3cret"}`, `{"PASSWORD":"s3cret"}`, `{"pass\u0077ord":"s3cret"}`, `[{"PassWord":"s3cret"}]`,
		`{"Customer":{"EMAIL":"s3cret"}}`, `{"customer":{"email":"x"},"customer":{"email":"s3cret"}}`, `{"a":{"pa\u017fsword":"s3cret"}}`,
	} {
		shown, err := r.JSON([]byte(body))
		require.NoError(t, err)
		require.NotContains(t, string(shown), "s3cret", body)
	}
	shown, err := r.JSON([]byte(`{"passwort":"seen","email":"seen"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"passwort":"seen","email":"seen"}`, string(shown))
}
