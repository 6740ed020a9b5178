"""What a person can ask: one public function per file, packages joined, one typed result."""
