"""How answers are shown: text, JSON, SARIF, herd7's outcomes, and executions as text, SVG and DOT."""
