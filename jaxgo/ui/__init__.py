"""What people look at: boards, tables, screens and pages."""
