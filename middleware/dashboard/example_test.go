package dashboard_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// A service mounts the dashboard under its own path, and says who asks.
func ExampleNew() {
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := dashboard.New(dashboard.Config{
		Outboxes: map[string]admin.Outbox{"shop": ob.Admin()},
		Base:     "/ops/leat/",
		Hosts:    []string{"ops.example.com"},
		Authorize: func(r *http.Request) (dashboard.Identity, error) {
			user := r.Header.Get("X-User") // your own sign-in
			if user == "" {
				return dashboard.Identity{}, &dashboard.SignInError{Err: errors.New("nobody")}
			}
			return dashboard.Identity{Actor: user, Roles: []dashboard.Role{dashboard.RoleViewer}}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/leat/", d)
	for _, user := range []string{"", "ann"} {
		r := httptest.NewRequest(http.MethodGet, "http://ops.example.com/ops/leat/api/v1/me", nil)
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 401 {"title":"Unauthorized","status":401,"detail":"sign in"}
	// 200 {"actor":"ann","roles":["viewer"],"read_only":false,"outboxes":["shop"],"inboxes":[]}
}
