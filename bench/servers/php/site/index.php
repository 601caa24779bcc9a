<?php
// A small shop with a journal: a router, a database in memory, templates, a search, reports as JSON. Each
// request builds all that it needs anew, as PHP does; what it says depends on its address alone.
declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    require __DIR__ . '/lib/' . $class . '.php';
});

$router = new Router();
$router->add('/', 'Pages::home');
$router->add('/articles/{id}', 'Pages::article');
$router->add('/search/{words}', 'Pages::search');
$router->add('/basket/{items}', 'Pages::basket');
$router->add('/api/orders/{year}', 'Reports::orders');
$router->add('/api/export/{kind}', 'Reports::export');

$response = $router->answer($_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI']);
http_response_code($response->status);
header('Content-Type: ' . $response->type);
header('Content-Length: ' . strlen($response->body));
echo $response->body;
