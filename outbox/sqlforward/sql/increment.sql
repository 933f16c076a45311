SELECT @@GLOBAL.auto_increment_increment
