// Package faultnet dials connections that break, for tests: all at once ([Lines]), at
// a COMMIT ([Commits]), or now and then ([Frail]). Its dialers fit pgx, go-redis and
// franz-go.
package faultnet
