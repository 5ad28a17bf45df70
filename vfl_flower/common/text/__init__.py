"""Text of tables and of other parties, made safe to show."""
