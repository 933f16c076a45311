// Package dashboard is an HTTP API and a web page for operators of outboxes and inboxes: an
// http.Handler that a service mounts under its own path and its own sign-in. The command
// leat serves the same with leat dash.
//
// It shows and changes what packages outbox/admin and inbox/admin can, for any store. All
// pages work without JavaScript. docs/dashboard.md has roles, routes and what an operator
// sees.
//
//	d, err := dashboard.New(dashboard.Config{
//		Outboxes:  map[string]admin.Outbox{"shop": ob},
//		Base:      "/ops/leat/",
//		Hosts:     []string{"ops.example.com"},
//		Authorize: whoIs, // your sign-in
//	})
//	…
//	mux.Handle("/ops/leat/", d)
//	go d.Run(ctx) // samples figures even while no page is open
//
// Stability: young, see docs/versions.md.
package dashboard
