INSERT INTO repositories (name, version) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET version = version + 1
