package httpsink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

// TestRequest: what is sent, byte for byte.
func TestRequest(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	hook := &recorder{}
	s := to(t, r, httpsink.Config{Hooks: []outbox.Hook{hook}})
	rec := record(1, "customer-7")
	rec.Type, rec.Payload = "order.placed", []byte("\x00\xff {\r\n}\n")
	rec.Headers = map[string]string{"tenant": "a", "traceparent": "00-1-2-01", "Odd_Name": "ü", "authorization": "mine", "host": "evil", "webhook-id": "evil"}
	before := time.Now().Unix()
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{rec})))
	a := r.last()
	require.Equal(t, "/hook?a=b", a.path)
	require.Equal(t, string(rec.Payload), a.body)
	require.Equal(t, "id-1", a.id())
	var sent int64
	_, err := fmt.Sscan(a.header.Get("Webhook-Timestamp"), &sent)
	require.NoError(t, err)
	require.GreaterOrEqual(t, sent, before)
	require.Empty(t, a.header.Get("Authorization"))
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "leat", "Traceparent": "00-1-2-01", "Leat-Tenant": "a",
		"Leat-Event-Type": "order.placed", "Leat-Key": "customer-7", "Leat-Event-Time": "2023-11-14T22:13:20Z", "Leat-Authorization": "mine",
	} {
		require.Equal(t, want, a.header.Get(name), name)
	}
	require.Len(t, hook.requests, 1)
	e := hook.requests[0]
	require.Equal(t, httpsink.RequestEvent{Endpoint: "t", ID: "id-1", Status: 200, Took: e.Took}, e)
	require.Positive(t, e.Took)
}

// TestStandardOnly: strangers see what the specification has, and no more.
func TestStandardOnly(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	e := at(r.URL)
	e.StandardOnly, e.Header = true, http.Header{"authorization": {"Bearer x"}}
	s := open(t, httpsink.Static{"t": e}, httpsink.Config{})
	rec := record(1, "secret-key")
	rec.ID, rec.Type, rec.Headers = "order.1", "x", map[string]string{"content-type": "text/plain", "tenant": "a", "traceparent": "00-1-2-01"}
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{rec})))
	h := r.last().header
	require.Equal(t, "Bearer x", h.Get("Authorization"))
	require.Equal(t, "text/plain", h.Get("Content-Type"))
	require.NotContains(t, h.Get("Webhook-Id"), ".")
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
	}[1:], names)
}

// TestRotation: each secret signs, so that whoever knows one of them accepts.
func TestRotation(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	e := at(r.URL)
	e.Secrets = []string{httpsink.NewSecret(), secret}
	s := open(t, httpsink.Static{"t": e}, httpsink.Config{})
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a")})))
	require.Len(t, strings.Fields(r.last().header.Get("Webhook-Signature")), 2)
	e.Secrets = e.Secrets[:1]
	s = open(t, httpsink.Static{"t": e}, httpsink.Config{})
	require.Equal(t, []string{"outage"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a")})))
}

// TestStatuses: what each answer means, and what its error says.
func TestStatuses(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	status, header := 0, http.Header{}
	r := receive(t, func(w http.ResponseWriter, _ *http.Request, _ *arrival) {
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		if status != http.StatusNotModified {
			_, _ = io.WriteString(w, "because \xff")
		}
	})
	s := to(t, r, httpsink.Config{})
	for want, statuses := range map[string][]int{
		"ok":        {200, 201, 202, 299},
		"permanent": {400, 402, 406, 411, 412, 413, 414, 415, 418, 422, 423, 428, 431, 451},
		"unknown":   {409, 425},
		"outage":    {300, 301, 302, 303, 304, 307, 308, 401, 403, 404, 405, 407, 408, 421, 429, 500, 501, 502, 503, 504, 599},
	} {
		for _, code := range statuses {
			mu.Lock()
			status, header = code, http.Header{"Location": {"https://login.example/"}}
			mu.Unlock()
			results := s.Send(t.Context(), []outbox.Record{record(1, "a"), record(2, "a")})
			require.Equal(t, want, kinds(results)[0], code)
			if want == "ok" {
				continue
			}
			require.Equal(t, "not_sent", kinds(results)[1], code)
			require.ErrorContains(t, results[0].Err, fmt.Sprintf("answered %d", code))
			require.Equal(t, code == 401 || code == 403 || code == 404 || code == 405 || code == 407,
				errors.Is(results[0].Err, outbox.ErrTopicUnavailable), code)
			if code/100 == 3 {
				require.ErrorContains(t, results[0].Err, `the URL must be changed to "https://login.example/"`)
			}
			if code != http.StatusNotModified {
				require.ErrorContains(t, results[0].Err, "because \ufffd")
			}
		}
	}
	for _, id := range r.ids() {
		require.Contains(t, []string{"id-1", "id-2"}, id)
	}
	require.LessOrEqual(t, r.dialled(), 5, "answers were read to their ends")
}

// TestRedirect_IsNotFollowed: a login page behind a 302 would answer 200, without having
// taken anything.
func TestRedirect_IsNotFollowed(t *testing.T) {
	t.Parallel()
	login := receive(t, nil)
	r := receive(t, func(w http.ResponseWriter, req *http.Request, _ *arrival) {
		http.Redirect(w, req, login.URL, http.StatusTemporaryRedirect)
	})
	results := to(t, r, httpsink.Config{}).Send(t.Context(), []outbox.Record{record(1, "a")})
	require.Equal(t, []string{"outage"}, kinds(results))
	require.ErrorContains(t, results[0].Err, "307")
	require.Empty(t, login.ids())
}

// TestGone: an endpoint that answers 410 gets nothing more, until it has another URL or
// is refreshed.
func TestGone(t *testing.T) {
	t.Parallel()
	hook := &recorder{}
	gone, other := receive(t, always(http.StatusGone)), receive(t, nil)
	book := &book{endpoints: httpsink.Static{"t": at(gone.URL)}}
	s := open(t, book, httpsink.Config{Hooks: []outbox.Hook{hook}, LookupEvery: time.Millisecond})
	for range 3 {
		results := s.Send(t.Context(), []outbox.Record{record(1, "a")})
		require.Equal(t, []string{"permanent"}, kinds(results))
		require.ErrorIs(t, results[0].Err, httpsink.ErrOff)
		require.NoError(t, wait.For(t.Context(), 2*time.Millisecond)) // the lookup is old then
	}
	require.Len(t, gone.ids(), 1)
	require.Equal(t, []httpsink.GoneEvent{{Endpoint: "t", URL: gone.URL}}, hook.gone)
	s.Refresh("t")
	require.Equal(t, []string{"permanent", "permanent"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a"), record(2, "b")})))
	require.NotEmpty(t, gone.ids()[1:])

	book.set(at(other.URL))
	s.Refresh()
	require.Equal(t, []string{"ok"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a")})))
	off := at(other.URL)
	off.Off = true
	book.set(off)
	s.Refresh()
	require.Equal(t, []string{"permanent", "permanent", "permanent"}, kinds(s.Send(t.Context(), []outbox.Record{record(1, "a"), record(2, "a"), record(3, "b")})))
	require.Len(t, other.ids(), 1)
}

// book is an Endpoints that changes.
type book struct {
	mu        sync.Mutex
	endpoints httpsink.Static
	err       error
	asked     int
}

func (b *book) Endpoint(ctx context.Context, name string) (httpsink.Endpoint, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.err != nil {
		return httpsink.Endpoint{}, b.err
	}
	return b.endpoints.Endpoint(ctx, name)
}

func (b *book) set(e httpsink.Endpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints["t"] = e
}

// TestLookup: answers are kept for a while, failures are not, and what cannot be used is an
// outage that says why.
func TestLookup(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	b := &book{endpoints: httpsink.Static{}}
	s := open(t, b, httpsink.Config{})
	send := func() outbox.Result { return s.Send(t.Context(), []outbox.Record{record(1, "a")})[0] }
	for _, bad := range []httpsink.Endpoint{{}, {URL: "ftp://x", Secrets: []string{secret}}, {URL: r.URL, Secrets: []string{"x"}}} {
		result := send()
		require.Equal(t, outbox.FailureOutage, outbox.KindOf(result.Err))
		require.ErrorIs(t, result.Err, outbox.ErrTopicUnavailable)
		b.set(bad)
	}
	require.ErrorContains(t, send().Err, "Secrets[0]")
	b.set(at(r.URL))
	asked := b.asked
	for range 5 {
		require.NoError(t, send().Err)
	}
	require.Equal(t, asked+1, b.asked)
	b.err = errors.New("database is unavailable")
	require.NoError(t, send().Err, "it is remembered")
	s.Refresh("other", "t")
	result := send()
	require.ErrorIs(t, result.Err, b.err)
	require.NotErrorIs(t, result.Err, outbox.ErrTopicUnavailable)
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(result.Err))
}

// TestConnectionsAreKept: watermill-http needs one for each request.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("thank you ", 6000) // 60 kB, below what is read
	r := receive(t, func(w http.ResponseWriter, _ *http.Request, _ *arrival) { _, _ = io.WriteString(w, long) })
	s := to(t, r, httpsink.Config{})
	var records []outbox.Record
	for i := range int64(1000) {
		records = append(records, record(i, strconv.FormatInt(i%97, 10)))
	}
	for i := range records {
		results := s.Send(t.Context(), records[i:i+1])
		require.NoError(t, results[0].Err)
	}
	require.LessOrEqual(t, r.dialled(), 5, "one, unless the machine is so slow that an answer is not read in time")
	for _, result := range s.Send(t.Context(), records) {
		require.NoError(t, result.Err)
	}
	require.LessOrEqual(t, r.dialled(), 5+2*8, "a connection that becomes idle can come while another one is dialled")
}

// TestLongAnswers_AreNotRead: a receiver cannot hold a sender up, or fill its memory.
func TestLongAnswers_AreNotRead(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	r := receive(t, func(w http.ResponseWriter, req *http.Request, a *arrival) {
		if a.id() == "id-2" { // drips for ever
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
			return
		}
		defer close(over)
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	s := to(t, r, httpsink.Config{})
	require.NoError(t, s.Send(t.Context(), []outbox.Record{record(1, "a")})[0].Err)
	<-over
	require.NoError(t, s.Send(t.Context(), []outbox.Record{record(2, "a")})[0].Err)
}

// TestOutages: whatever keeps an answer away is an outage of this endpoint alone.
func TestOutages(t *testing.T) {
	t.Parallel()
	good := receive(t, nil)
	closed := receive(t, nil)
	closed.Close()
	hangs := receive(t, func(_ http.ResponseWriter, req *http.Request, _ *arrival) { <-req.Context().Done() })
	cut := receive(t, func(w http.ResponseWriter, _ *http.Request, _ *arrival) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	plain := strings.Replace(good.URL, "http://", "https://", 1)
	endpoints := httpsink.Static{
		"good": at(good.URL), "closed": at(closed.URL), "hangs": at(hangs.URL), "cut": at(cut.URL), "tls": at(plain),
		"name": at("http://nowhere.invalid/"),
	}
	s := open(t, endpoints, httpsink.Config{Timeout: 300 * time.Millisecond})
	var records []outbox.Record
	for topic := range endpoints {
		for i := range int64(3) {
			r := record(i, "k")
			r.Topic = topic
			records = append(records, r)
		}
	}
	results := s.Send(t.Context(), records)
	for i := range records {
		switch {
		case records[i].Topic == "good":
			require.NoError(t, results[i].Err)
		case i%3 == 0:
			require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[i].Err), records[i].Topic)
			require.ErrorContains(t, results[i].Err, `"`+records[i].Topic+`"`)
			server, _, _ := strings.Cut(strings.TrimPrefix(endpoints[records[i].Topic].URL, "http"), "?")
			require.ErrorContains(t, results[i].Err, "the server at [http"+strings.TrimSuffix(server, "/")+"] does not answer: ")
		default:
			require.ErrorIs(t, results[i].Err, outbox.ErrNotSent)
		}
	}
}

// TestO5_KeysStopAtTheirFirstFailure, and no other; a record without a key fails alone.
func TestO5_KeysStopAtTheirFirstFailure(t *testing.T) {
	t.Parallel()
	r := receive(t, func(w http.ResponseWriter, _ *http.Request, a *arrival) {
		if a.id() == "id-3" || a.id() == "id-4" {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	s := to(t, r, httpsink.Config{})
	results := s.Send(t.Context(), []outbox.Record{
		record(1, "a"), record(2, "b"), record(3, "a"), record(4, ""), record(5, "a"), record(6, ""), record(7, "b"),
	})
	require.Equal(t, []string{"ok", "ok", "permanent", "permanent", "not_sent", "ok", "ok"}, kinds(results))
	require.ElementsMatch(t, []string{"id-1", "id-2", "id-3", "id-4", "id-6", "id-7"}, r.ids())
}

// fake makes a sink whose requests take time, in virtual time.
func fake(t *testing.T, e httpsink.Endpoint, cfg httpsink.Config, answer func(r *http.Request) (*http.Response, error)) *httpsink.Sink {
	t.Helper()
	e.URL, e.Secrets = "https://example.com/", []string{secret}
	cfg.Wrap = func(http.RoundTripper) http.RoundTripper { return roundTripper(answer) }
	s, err := httpsink.New(httpsink.Static{"t": e}, cfg)
	require.NoError(t, err)
	return s
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(status int, header http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}
}

// TestConcurrency: no more requests than the endpoint, and the sink, may have; and one of
// a key.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		endpoint, sink, keys, want int
	}{"endpoint": {3, 0, 100, 3}, "sink": {20, 5, 100, 5}, "keys": {20, 0, 2, 2}, "default": {0, 0, 100, 8}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				now, most := 0, 0
				s := fake(t, httpsink.Endpoint{Concurrency: c.endpoint}, httpsink.Config{MaxConcurrent: c.sink}, func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					now++
					most = max(most, now)
					mu.Unlock()
					err := wait.For(r.Context(), time.Millisecond)
					mu.Lock()
					now--
					mu.Unlock()
					return answered(200, nil), err
				})
				var records []outbox.Record
				for i := range int64(300) {
					records = append(records, record(i, strconv.FormatInt(i%int64(c.keys), 10)))
				}
				var sends sync.WaitGroup
				for part := range 2 {
					sends.Go(func() {
						for _, r := range s.Send(t.Context(), records[part*150:][:150]) {
							require.NoError(t, r.Err)
						}
					})
					if c.keys < 3 {
						sends.Wait() // a relay sends a key from one slot alone
					}
				}
				sends.Wait()
				require.Equal(t, c.want, most)
			})
		})
	}
}

// TestRate: requests are spaced evenly, over calls, and what does not fit into a call is
// not sent, or an outage if nothing fits.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fake(t, httpsink.Endpoint{Rate: 2}, httpsink.Config{}, func(*http.Request) (*http.Response, error) { return answered(200, nil), nil })
		var records []outbox.Record
		for i := range int64(10) {
			records = append(records, record(i, ""))
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		results := s.Send(ctx, records)
		require.Equal(t, 2*time.Second, time.Since(began), "a third is kept")
		require.Equal(t, []string{"ok", "ok", "ok", "ok", "ok", "not_sent", "not_sent", "not_sent", "not_sent", "not_sent"}, sorted(results))

		soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		results = s.Send(soon, records[:2])
		require.Equal(t, []string{"outage", "not_sent"}, kinds(results))
		require.ErrorContains(t, results[0].Err, "rate or concurrency")
	})
}

// sorted are kinds, those that are ok first.
func sorted(results []outbox.Result) []string {
	var ok, others []string
	for _, k := range kinds(results) {
		if k == "ok" {
			ok = append(ok, k)
		} else {
			others = append(others, k)
		}
	}
	return append(ok, others...)
}

// TestPanics_AreFailuresOfTheirRecord: they must not end the process.
func TestPanics_AreFailuresOfTheirRecord(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]httpsink.Config{
		"transport": {Wrap: func(http.RoundTripper) http.RoundTripper {
			return roundTripper(func(*http.Request) (*http.Response, error) { panic("no") })
		}},
		"classify": {Classify: func(int) outbox.FailureKind { panic("no") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Logger = slog.New(slog.DiscardHandler)
			s := to(t, receive(t, always(500)), cfg)
			results := s.Send(t.Context(), []outbox.Record{record(1, "a"), record(2, "b")})
			require.ErrorContains(t, results[0].Err, "a function of the sink's configuration has panicked")
			require.Equal(t, []string{"unknown", "unknown"}, kinds(results))
		})
	}
	s := open(t, panics{}, httpsink.Config{Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, s.Send(t.Context(), []outbox.Record{record(1, "a")})[0].Err, "a function of the sink's configuration has panicked")
}

type panics struct{}

func (panics) Endpoint(context.Context, string) (httpsink.Endpoint, error) { panic("no") }

// TestBody_IsACopy: a transport may read it after it has answered, when the memory of the
// record has another use.
func TestBody_IsACopy(t *testing.T) {
	t.Parallel()
	var body io.Reader
	s := fake(t, httpsink.Endpoint{}, httpsink.Config{}, func(r *http.Request) (*http.Response, error) {
		body = r.Body
		return answered(200, nil), nil
	})
	r := record(1, "a")
	want := string(r.Payload)
	require.NoError(t, s.Send(t.Context(), []outbox.Record{r})[0].Err)
	clear(r.Payload)
	got, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}
