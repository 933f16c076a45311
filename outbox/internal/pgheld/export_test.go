package pgheld

// WithoutLock is a forbidden form: writers do not take turns.
func (s *Statements) WithoutLock() *Statements {
	bad := *s
	bad.lock = "SELECT $1::bigint"
	return &bad
}

// WithoutFence is a forbidden form: the lease may be another's.
func (s *Statements) WithoutFence() *Statements {
	bad := *s
	bad.fence = "SELECT $4::bigint FROM (SELECT $1::text, $2::smallint, $3::text) x"
	return &bad
}

// SQL returns the statements whose plans are tested.
func (s *Statements) SQL() map[string]string {
	return map[string]string{"due": s.due, "keys": s.keys, "settle": s.settle, "free": s.free, "leave": s.leave, "stay": s.stay, "list_audit_id": s.listAuditID, "list_audit_id_newest": s.listAuditIDNewest}
}
