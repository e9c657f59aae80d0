"""The store on Redis or Valkey.

It takes the package ``redis``: the extra of that name.
"""
