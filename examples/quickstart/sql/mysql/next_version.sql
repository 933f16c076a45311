INSERT INTO repositories (name, version) VALUES (?, 1) ON DUPLICATE KEY UPDATE version = version + 1
