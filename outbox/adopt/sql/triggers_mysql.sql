-- Which of two triggers are there.
SELECT trigger_name FROM information_schema.triggers
WHERE trigger_schema = DATABASE() AND trigger_name IN (?, ?)
