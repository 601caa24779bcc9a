<?php
declare(strict_types=1);

/** Finds who answers an address: patterns like /articles/{id}, compiled to regular expressions. */
final class Router
{
    /** @var array<string, callable> */
    private array $routes = [];

    public function add(string $pattern, callable $handler): void
    {
        $expression = preg_replace('/\\\\{(\w+)\\\\}/', '(?<$1>[^/]+)', preg_quote($pattern, '#'));
        $this->routes["#^$expression$#"] = $handler;
    }

    public function answer(string $method, string $address): Response
    {
        if ($method !== 'GET') {
            return new Response('only GET', 405, 'text/plain');
        }
        $path = parse_url($address, PHP_URL_PATH);
        foreach ($this->routes as $expression => $handler) {
            if (preg_match($expression, $path, $found)) {
                $named = array_filter($found, 'is_string', ARRAY_FILTER_USE_KEY);
                return $handler(new Store(), array_map('rawurldecode', $named));
            }
        }
        return new Response('no such page', 404, 'text/plain');
    }
}
