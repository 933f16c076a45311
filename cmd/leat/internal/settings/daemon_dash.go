package settings

// Dashboard is the configuration of the dashboard. Its fields have the names of the flags of leat dash.
type Dashboard struct {
	At          Place  `yaml:"-"`
	Base        Text   `yaml:"base" doc:"Path under which a proxy serves it, with slashes at both ends. Defaults to /."`
	Hosts       []Text `yaml:"hosts" doc:"Names by which browsers reach it, without a port. Required beyond this machine; defaults to localhost."`
	ReadOnly    Text   `yaml:"read_only" doc:"true: allow no changes. Defaults to false."`
	Allow       []Text `yaml:"allow" doc:"Roles without a sign-in, on this machine: viewer, payload, operator, admin. Defaults to all."`
	Basic       Text   `yaml:"basic" doc:"File of people who sign in by password. Lines are NAME:BCRYPT:ROLES."`
	Bearer      Text   `yaml:"bearer" doc:"File of programs that sign in by token. Lines are NAME:SHA256:ROLES."`
	ProxyPeers  []Text `yaml:"proxy_peers" doc:"Proxies trusted to name the user, such as 10.0.0.7 or 10.1.0.0/16."`
	ProxyUser   Text   `yaml:"proxy_user" doc:"Their header with the user. Defaults to X-Forwarded-User."`
	ProxyGroup  Text   `yaml:"proxy_group" doc:"Their header with the user's groups. Defaults to X-Forwarded-Groups."`
	ProxyRoles  []Text `yaml:"proxy_roles" doc:"Roles of a group's members, GROUP=ROLE."`
	HideHeaders []Text `yaml:"hide_headers" doc:"Headers to hide. Defaults to those that carry secrets."`
	HidePaths   []Text `yaml:"hide_paths" doc:"Members of JSON to hide, such as customer.email or **.card."`
	TraceURL    Text   `yaml:"trace_url" doc:"URL of a trace, with {id}, for links from headers traceparent."`
	Descriptors Text   `yaml:"descriptors" doc:"Descriptor set, by protoc --include_imports --descriptor_set_out."`
	Protobuf    []Text `yaml:"protobuf" doc:"Message types by topic, TOPICS=MESSAGE, such as orders.*=shop.v1.Order."`
}
