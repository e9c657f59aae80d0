"""What the package adds around a spider: robot tags, hooks, usage preferences."""
