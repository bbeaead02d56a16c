"""How far the findings reach: every open choice varied, and the regret of every rule."""
